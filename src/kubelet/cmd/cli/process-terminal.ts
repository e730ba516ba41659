import type { Terminal } from './exec-session.ts';

/** The terminal (or pipes) of this process. */
export const processTerminal: Terminal = {
  out: (data) => void process.stdout.write(data),
  error: (data) => void process.stderr.write(data),
  input({ onData, onEnd, onResize }, raw) {
    const { stdin, stdout } = process;
    const resize = (): void => onResize({ columns: stdout.columns, rows: stdout.rows });
    if (raw && stdin.isTTY) stdin.setRawMode(true);
    if (raw && stdout.isTTY) {
      stdout.on('resize', resize);
      resize();
    }
    stdin.on('data', onData);
    stdin.on('end', onEnd);
    return () => {
      if (raw && stdin.isTTY) stdin.setRawMode(false);
      stdout.off('resize', resize);
      stdin.off('data', onData);
      stdin.off('end', onEnd);
      stdin.pause();
    };
  },
};
