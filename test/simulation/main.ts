import type { ScenarioResult } from './scenario.ts';
import { runScenario, smallScenario } from './scenario.ts';

/** `node test/simulation/main.ts --seed N` replays one seed with its trace; `--seeds N --from K` runs many. */
const argument = (name: string): number | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? undefined : Number(process.argv[at + 1]);
};

function show(result: ScenarioResult, verbose: boolean): void {
  if (verbose) {
    console.log(result.trace.map((line) => `  ${line}`).join('\n'));
    console.log(
      result.logs
        .slice(-(argument('logs') ?? 60))
        .map((line) => `  ${line}`)
        .join('\n'),
    );
  }
  for (const violation of result.violations)
    console.log(
      `seed ${result.seed}: ${violation.invariant} at ${(violation.atMs / 1000).toFixed(3)} s: ${violation.message}`,
    );
}

const kindsAt = process.argv.indexOf('--kinds');
/** `--kinds agent,disk`: only these kinds of disturbances, to find a cause. */
const kinds = kindsAt === -1 ? {} : { kinds: process.argv[kindsAt + 1]?.split(',') ?? [] };
process.on('unhandledRejection', (reason) => console.log('unhandled rejection', reason));
const seed = argument('seed');
if (seed !== undefined) {
  const result = await runScenario({ ...smallScenario(seed), ...kinds });
  show(result, true);
  console.log(
    `hash ${result.hash}, ${result.writes} writes, ${Math.round(result.totalMs / 1000)} s of virtual time, converged after ${result.convergedMs / 1000} s`,
  );
  process.exitCode = result.violations.length > 0 ? 1 : 0;
} else {
  const from = argument('from') ?? 1;
  const beganMs = performance.now();
  let virtualMs = 0;
  let failed = 0;
  let slowest = 0;
  for (let each = from; each < from + (argument('seeds') ?? 100); each++) {
    const result = await runScenario({ ...smallScenario(each), ...kinds });
    virtualMs += result.totalMs;
    slowest = Math.max(slowest, result.convergedMs);
    if (result.violations.length === 0) continue;
    failed++;
    show({ ...result, violations: result.violations.slice(0, 2) }, false);
  }
  const tookMs = performance.now() - beganMs;
  console.log(
    `${failed} failed; ${Math.round(tookMs)} ms for ${Math.round(virtualMs / 3_600_000)} h of virtual time (1:${Math.round(virtualMs / tookMs)}); slowest convergence ${slowest / 1000} s`,
  );
  process.exitCode = failed > 0 ? 1 : 0;
}
