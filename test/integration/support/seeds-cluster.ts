// The cluster of docs/seeds.md: it is started with the document's commands, and all questions of its tables are
// checked.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { isAnswered, parseSeedsTable, runShell } from '../../../scripts/seeds-table.ts';
import type { Outcome } from '../../../scripts/seeds-table.ts';
import { freePort } from '../../../src/up/agent.ts';
import { machineEnvironment } from '../../../src/up/commands.ts';
import { builtProgram } from './agent-build.ts';

const repository = path.join(import.meta.dirname, '..', '..', '..');
const START_LIMIT_MS = 120_000;
const ROW_LIMIT_MS = 180_000;

/** Free ports for the three servers that the document starts next to the cluster. */
async function freePorts(): Promise<Readonly<Record<string, string>>> {
  const [web, issuer, small] = await Promise.all([freePort(0), freePort(0), freePort(0)]);
  return { WEB_PORT: String(web), ISSUER_PORT: String(issuer), SMALL_PORT: String(small) };
}

export class SeedsCluster {
  readonly #table = parseSeedsTable(readFileSync(path.join(repository, 'docs', 'seeds.md'), 'utf8'));
  /** Replaces programs of a checkout in the document's commands by those that the tests have built. */
  readonly #built: (commands: string) => string;
  readonly #env: Readonly<Record<string, string | undefined>>;

  private constructor(built: (commands: string) => string, env: Readonly<Record<string, string | undefined>>) {
    this.#built = built;
    this.#env = env;
  }

  /** `program`: the arguments for node that run `up`. */
  static async of(dataDir: string, program: readonly string[]): Promise<SeedsCluster> {
    const bin = path.dirname(await builtProgram('kubelet'));
    const up = [process.execPath, ...program].join(' ');
    return new SeedsCluster(
      (commands) =>
        commands.replaceAll('$PWD/bin', bin).replaceAll(/npm run (up|down) --/g, (_, name) => `${up} ${name}`),
      { ...machineEnvironment(), HOME: path.dirname(dataDir), DATA: dataDir, ...(await freePorts()) },
    );
  }

  /** Starts from a shell whose umask makes new files accessible to all users. */
  start(): Promise<Outcome> {
    return this.#run(`umask 000\n${this.#table.blocks[0]}`, START_LIMIT_MS);
  }

  end(): Promise<Outcome> {
    return this.#run(this.#block(2), START_LIMIT_MS);
  }

  /** Each row is a separate test, in the order of the document. */
  async answersAll(t: TestContext): Promise<void> {
    const { output: listed } = await this.#run(`${this.#block(1)}\nenv -0`, START_LIMIT_MS);
    const variables = Object.fromEntries(
      listed.split('\0').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    );
    for (const { id, command, answer } of this.#table.rows)
      await t.test(`${id} ${command}`, async () => {
        const { code, output } = await runShell(this.#built(command), variables, ROW_LIMIT_MS, repository);
        assert.equal(code, 0, output);
        assert.ok(isAnswered(output, answer), `"${answer.join('…')}" is not in:\n${output}`);
      });
  }

  /** A code block with the variables of the first lines, which later blocks use. */
  #block(index: number): string {
    const exports = (this.#table.blocks[0] ?? '').split('\n').filter((line) => line.startsWith('export '));
    return [...exports, this.#table.blocks[index]].join('\n');
  }

  #run(commands: string, limitMs: number): Promise<Outcome> {
    return runShell(this.#built(commands), this.#env, limitMs, repository);
  }
}
