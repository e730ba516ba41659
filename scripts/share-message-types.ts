// node scripts/share-message-types.ts FOLDER...
// ts-proto ends each file that it generates with the same types. This replaces them with an import.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const SHARED = 'src/grpc/message-fns.ts';
const sharedTypes =
  /\ntype Builtin = [^]*?\nexport type DeepPartial<T> = [^]*?\nexport interface MessageFns<T> \{[^]*?\n\}\n$/;
const lastImport = /^import .*;\n(?!import )/m;

for (const folder of process.argv.slice(2)) {
  for (const file of globSync(join(folder, '**/*.ts'))) {
    const text = readFileSync(file, 'utf8');
    if (!sharedTypes.test(text))
      throw new Error(`${file} does not end as ts-proto's files do: adapt ${import.meta.filename}`);
    const rest = text.replace(sharedTypes, '');
    const names = ['DeepPartial', 'MessageFns'].filter((name) => rest.includes(`${name}<`));
    const line = `import type { ${names.join(', ')} } from "${relative(dirname(file), SHARED)}";\n`;
    writeFileSync(
      file,
      rest.replace(lastImport, (imports) => imports + line),
    );
  }
}
