import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseYaml } from './parse-yaml.ts';

const CANARY = 'cAnArY9f3c';

test('parser errors do not quote the manifest, which may be a Secret', () => {
  const broken = [
    `a: "x"\n${CANARY}`,
    `a: >${CANARY}\n`,
    `a: *${CANARY}\n`,
    `a: "\\U${CANARY}"\n`,
    `a: !x!${CANARY} b\n`,
    `a: !<${CANARY} b\n`,
    `%${CANARY}\n---\na: b\n`,
    `a: {b: c}\n ]${CANARY}\n`,
    `a: [\n- b: "${CANARY}`,
    `\t${CANARY}: @x`,
    `a: b\n  ${CANARY}: c: d\n`,
  ];
  const said = broken.map((text) => parseYaml(text, 1000).errors.map(({ message }) => message));
  assert.equal(JSON.stringify(said).includes(CANARY), false, JSON.stringify(said));
  assert.ok(said.filter((messages) => messages.length > 0).length >= 9, JSON.stringify(said));
  assert.deepEqual(said[1], ['Block scalar header includes extra characters']);
  assert.deepEqual(
    parseYaml(`a: [b, c\nd: e`, 1000)
      .errors.map(({ message }) => message)
      .some((message) => message.length > 20),
    true,
  );
});
