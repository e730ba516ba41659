// Writes docs/parity.md from the tables in the code (--write), or says whether it is current.
import { readFileSync, writeFileSync } from 'node:fs';
import { renderParity } from './parity-render.ts';

export const parityFile = new URL('../docs/parity.md', import.meta.url);

if (import.meta.main) {
  const text = renderParity();
  if (process.argv.includes('--write')) {
    writeFileSync(parityFile, text);
    console.log('docs/parity.md written');
  } else {
    const current = readFileSync(parityFile, 'utf8') === text;
    console.log(
      current ? 'docs/parity.md is current' : 'docs/parity.md is not current: run node scripts/parity.ts --write',
    );
    process.exitCode = current ? 0 : 1;
  }
}
