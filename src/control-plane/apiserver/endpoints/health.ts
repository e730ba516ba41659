import { textReply, withHeaders } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { HealthCheck } from '../options.ts';
import type { Exchange } from '../path/exchange.ts';

const names = ['healthz', 'livez', 'readyz'] as const;
type HealthName = (typeof names)[number];

/** The part of a request that health checks need. */
type Asked = Pick<Exchange, 'path' | 'query'>;

export interface HealthEndpoint {
  readonly serve: (asked: Asked) => Promise<Reply | undefined>;
  readonly paths: readonly string[];
  /** Makes `readyz` fail. */
  beginShutdown(): void;
}

/**
 * Serves `/healthz`, `/livez`, `/readyz` and one path below for each check, with upstream's texts. The reason of a
 * failure is logged, not sent to the client.
 */
export function healthEndpoint(
  given: readonly HealthCheck[],
  log: (check: string, error: string) => void,
): HealthEndpoint {
  let isStopping = false;
  const fine = (): Promise<void> => Promise.resolve();
  const shutdown: HealthCheck = {
    name: 'shutdown',
    endpoints: ['readyz'],
    check: () => (isStopping ? Promise.reject(new Error('process is shutting down')) : Promise.resolve()),
  };
  const checks: readonly HealthCheck[] = [
    { name: 'ping', check: fine },
    { name: 'log', check: fine },
    ...given,
    shutdown,
  ];
  const byEndpoint = new Map(
    names.map((name) => [name, checks.filter(({ endpoints }) => endpoints === undefined || endpoints.includes(name))]),
  );
  const serve: HealthEndpoint['serve'] = async (exchange) => {
    const [, first = '', ...rest] = exchange.path.replace(/(?<!\/)\/+$/, '').split('/');
    const name = names.find((each) => each === first);
    if (name === undefined) return undefined;
    const all = byEndpoint.get(name) ?? [];
    const single = rest.join('/');
    if (single === '') return runAll(exchange, name, all, log);
    const check = all.find((each) => each.name === single);
    return check === undefined ? undefined : runOne(check, log);
  };
  const paths = names.flatMap((name) => [
    `/${name}`,
    ...(byEndpoint.get(name) ?? []).map((check) => `/${name}/${check.name}`),
  ]);
  return { serve, paths, beginShutdown: () => void (isStopping = true) };
}

async function failureOf({ check }: HealthCheck): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function runOne(check: HealthCheck, log: (check: string, error: string) => void): Promise<Reply> {
  const failure = await failureOf(check);
  if (failure === undefined) return textReply(200, 'ok');
  log(check.name, failure);
  return textReply(500, `internal server error: ${failure}\n`);
}

async function runAll(
  exchange: Asked,
  name: HealthName,
  checks: readonly HealthCheck[],
  log: (check: string, error: string) => void,
): Promise<Reply> {
  const excluded = new Set(
    exchange.query
      .getAll('exclude')
      .flatMap((value) => value.split(','))
      .map((value) => value.trim())
      .filter((value) => value !== ''),
  );
  const lines: string[] = [];
  const failed: string[] = [];
  const results = await Promise.all(
    checks.map(async (check) => (excluded.has(check.name) ? 'excluded' : ((await failureOf(check)) ?? 'ok'))),
  );
  for (const [index, check] of checks.entries()) {
    const result = results[index] ?? 'ok';
    if (result === 'excluded') lines.push(`[+]${check.name} excluded: ok`);
    else if (result === 'ok') lines.push(`[+]${check.name} ok`);
    else {
      failed.push(check.name);
      log(check.name, result);
      lines.push(`[-]${check.name} failed: reason withheld`);
    }
  }
  const unknown = [...excluded]
    .filter((each) => !checks.some((check) => check.name === each))
    .map((each) => JSON.stringify(each));
  const warning =
    unknown.length > 0 ? [`warn: some health checks cannot be excluded: no matches for ${unknown.join(', ')}`] : [];
  if (failed.length > 0) return textReply(500, `${[...lines, ...warning, `${name} check failed`].join('\n')}\n`);
  const isVerbose = exchange.query.has('verbose');
  return withHeaders(
    textReply(200, isVerbose ? `${[...lines, ...warning, `${name} check passed`].join('\n')}\n` : 'ok'),
    {},
  );
}
