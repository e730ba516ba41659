// Tables of invalid pods: the changes of a valid pod, and the expected errors.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildPod } from '../../testing/pod-builder.ts';
import type { Changes } from '../../testing/pod-builder.ts';
import { permissivePolicy } from '../cluster-policy.ts';
import { formatFieldError } from '../field-error.ts';
import { validatePod } from '../pod/validate-pod.ts';

export type Case = readonly [changes: Changes, ...expected: string[]];
export const c0 = 'spec.containers[0]';
export const i0 = 'spec.initContainers[0]';
export const v0 = 'spec.volumes[0]';
export const init = (more: object = {}): object => ({ name: 'setup', image: 'busybox:1', ...more });
export const tcp = { tcpSocket: { port: 1 } };
export const vol = (source: object): Changes => ({ 'spec.volumes': [{ name: 'v', ...source }] });
export const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
export const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
export const qualified =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
export const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
export const configKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
export const port = 'must be between 1 and 65535, inclusive';
export const mode = 'must be a number between 0 and 0777 (octal), both inclusive';
export const id = 'must be between 0 and 2147483647, inclusive';

/** One test per row. `atLeast` is the minimum number of rows, so that a truncated table is noticed. */
export function testRefusals(groups: Readonly<Record<string, readonly Case[]>>, atLeast: number): void {
  for (const [group, cases] of Object.entries(groups)) {
    describe(`validatePod refuses wrong ${group}`, () => {
      for (const [changes, ...expected] of cases) {
        test(`${expected[0]?.slice(0, 110)}`, () => {
          assert.deepEqual(validatePod(buildPod(changes), permissivePolicy).map(formatFieldError), expected);
        });
      }
    });
  }
  test(`the tables hold at least ${atLeast} invalid pods`, () => {
    assert.ok(Object.values(groups).flat().length >= atLeast, String(Object.values(groups).flat().length));
  });
}
