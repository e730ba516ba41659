import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readPolicy } from './policy.ts';
import type { Policy } from './policy.ts';
import { podSecurityDefaults } from './pod-security.ts';
import { label } from './testing/level-cases.ts';

describe('the Pod Security policy of a namespace', () => {
  const { defaults } = podSecurityDefaults;

  it('is the default without labels, and warns at the enforced level', () => {
    assert.deepEqual(readPolicy({}, defaults), { policy: defaults, errors: [] });
    const { policy } = readPolicy({ ...label('enforce', 'baseline'), ...label('enforce-version', 'v1.20') }, defaults);
    assert.deepEqual(policy, {
      enforce: { level: 'baseline', minor: 20 },
      audit: { level: 'privileged', minor: Infinity },
      warn: { level: 'baseline', minor: 20 },
    });
    assert.equal(
      readPolicy({ ...label('enforce', 'baseline'), ...label('warn', 'privileged') }, defaults).policy.warn.level,
      'privileged',
    );
  });

  it('accepts versions "v1.<minor>" and "latest" only', () => {
    const minorOf = (version: string) => readPolicy(label('warn-version', version), defaults).policy.warn.minor;
    const wrong = (version: string) => readPolicy(label('warn-version', version), defaults).errors.length;
    assert.deepEqual(['latest', 'v1.0', 'v1.7', 'v1.136'].map(minorOf), [Infinity, 0, 7, 136]);
    assert.deepEqual(['xv1.2', 'v1.2x', 'v1.02', 'v2.1', 'v1.', ''].map(wrong), [1, 1, 1, 1, 1, 1]);
  });

  it('warns at the enforced level, at the version of the warn-version label', () => {
    const own = readPolicy(
      { ...label('enforce', 'baseline'), ...label('enforce-version', 'v1.20'), ...label('warn-version', 'v1.30') },
      defaults,
    );
    assert.deepEqual(own.policy.warn, { level: 'baseline', minor: 30 });
    const stricter: Policy = {
      ...defaults,
      enforce: { level: 'baseline', minor: 20 },
      warn: { level: 'restricted', minor: 21 },
    };
    assert.deepEqual(
      readPolicy({}, { ...stricter, warn: defaults.warn }).policy.warn,
      defaults.warn,
      'no label enforces',
    );
    assert.deepEqual(
      readPolicy(label('enforce', 'baseline'), stricter).policy.warn,
      stricter.warn,
      'the default is stricter',
    );
    assert.deepEqual(readPolicy(label('enforce', 'restricted'), stricter).policy.warn, stricter.warn, 'as strict');
  });

  it('enforces "restricted" for an invalid enforce label, and ignores other invalid labels', () => {
    const { policy, errors } = readPolicy(
      { ...label('enforce', 'x'), ...label('audit', 'y'), ...label('warn-version', '1.2') },
      defaults,
    );
    assert.deepEqual(
      [policy.enforce.level, policy.audit.level, policy.warn.level],
      ['restricted', 'privileged', 'privileged'],
    );
    assert.deepEqual(
      errors.map(({ field, message }) => `${field}: ${message}`),
      [
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, baseline, restricted',
        'metadata.labels[pod-security.kubernetes.io/audit]: Invalid value: "y": must be one of privileged, baseline, restricted',
        'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.2": must be "latest" or "v1.x"',
      ],
    );
  });
});
