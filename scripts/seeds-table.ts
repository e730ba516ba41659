/** docs/seeds.md as data: the block of commands that starts the cluster, and the rows of its tables. Pure but for `runRow`. */
import { spawn } from 'node:child_process';

export interface SeedRow {
  /** `3.12`: document and place in it. */
  readonly id: string;
  readonly command: string;
  /** The pieces that the output must hold, in this order. */
  readonly answer: readonly string[];
}

export interface SeedsTable {
  /** Each block of shell commands above the tables. */
  readonly blocks: readonly string[];
  readonly rows: readonly SeedRow[];
}

const codeSpan = /^`(.+)`$/;

/** Throws for a row that could not fail: one without a command or without an answer. */
export function parseSeedsTable(text: string): SeedsTable {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block ?? '');
  const rows = text.split('\n').flatMap((line) => {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const id = cells[1] ?? '';
    if (!/^\d+\.\d+$/.test(id)) return [];
    const [command, answer] = [cells[4], cells[5]].map((cell) =>
      codeSpan.exec(cell ?? '')?.[1]?.replaceAll('\\|', '|'),
    );
    if (command === undefined || answer === undefined)
      throw new Error(`row ${id} of docs/seeds.md needs a command and an answer, each in backticks`);
    const pieces = answer.split('…').filter((piece) => piece !== '');
    if (pieces.length === 0) throw new Error(`row ${id} of docs/seeds.md: any answer would do`);
    return [{ id, command, answer: pieces }];
  });
  return { blocks, rows };
}

/** Whether the output holds every piece of the answer, in order. */
export function isAnswered(output: string, answer: readonly string[]): boolean {
  let at = 0;
  for (const piece of answer) {
    const found = output.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return true;
}

export interface Outcome {
  readonly code: number | null;
  /** Both streams as they came. */
  readonly output: string;
}

/** In a shell that stops at the first command that fails. What it started ends with it when it takes too long. */
export function runShell(
  commands: string,
  env: Readonly<Record<string, string | undefined>>,
  limitMs: number,
  cwd?: string,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-ec', commands], {
      cwd,
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, limitMs);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    });
  });
}
