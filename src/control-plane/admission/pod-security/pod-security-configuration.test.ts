import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readPodSecurityConfiguration } from './pod-security-configuration.ts';
import { podSecurityDefaults } from './pod-security.ts';

describe('PodSecurityConfiguration', () => {
  const file = (more: object, version = 'v1') =>
    readPodSecurityConfiguration({
      kind: 'PodSecurityConfiguration',
      apiVersion: `pod-security.admission.config.k8s.io/${version}`,
      ...more,
    });

  it('sets defaults and exemptions', () => {
    assert.deepEqual(file({}), podSecurityDefaults);
    const read = file(
      { defaults: { enforce: 'baseline', 'enforce-version': 'v1.30' }, exemptions: { namespaces: ['kube-system'] } },
      'v1beta1',
    );
    assert.ok(typeof read === 'object');
    assert.deepEqual(
      [read.defaults.enforce, read.exemptions.namespaces],
      [{ level: 'baseline', minor: 30 }, ['kube-system']],
    );
  });

  it('is refused when a part of it is invalid or unknown', () => {
    assert.equal(
      file({
        defaults: { enforce: 'x', 'warn-version': '1' },
        exemptions: { namespaces: ['a', 'a'], usernames: [''] },
      }),
      'defaults.enforce: Invalid value: "x": must be one of privileged, baseline, restricted, defaults.warn-version: Invalid value: "1": must be "latest" or "v1.x", ' +
        'exemptions.namespaces[1]: Duplicate value: "a", exemptions.usernames[0]: Invalid value: "": username must not be empty',
    );
    assert.match(String(file({ default: {} })), /unknown field "default"/);
    assert.match(
      String(file({}, 'v9')),
      /no kind "PodSecurityConfiguration" is registered for version "pod-security.admission.config.k8s.io\/v9"/,
    );
    assert.equal(readPodSecurityConfiguration({}), "Object 'Kind' is missing");
  });
});
