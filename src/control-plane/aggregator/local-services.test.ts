import assert from 'node:assert/strict';
import test from 'node:test';
import type { APIService } from '../../api/apiregistration/api-service.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { AUTO_MANAGED_LABEL, localServices, planService, withServices } from './local-services.ts';
import type { LocalService } from './local-services.ts';

const kind = (group: string, version: string, rest: object = {}): ResourceDefinition =>
  // Only the fields that this test reads.
  ({ type: { group, version }, ...rest }) as ResourceDefinition;

test('each version that is served here has one APIService, with upstream’s priorities', () => {
  const found = localServices([
    kind('', 'v1'),
    kind('', 'v1'),
    kind('apps', 'v1'),
    kind('autoscaling', 'v2'),
    kind('apiregistration.k8s.io', 'v1'),
    kind('metrics.k8s.io', 'v1beta1'),
    kind('example.com', 'v1', { readBody: () => undefined }),
    kind('example.com', 'v2', { isInternal: true }),
  ]);
  assert.deepEqual(
    [...found.values()].map(({ name, management, spec }) => [
      name,
      management,
      spec.groupPriorityMinimum,
      spec.versionPriority,
    ]),
    [
      ['v1.', 'onstart', 18_000, 1],
      ['v1.apps', 'onstart', 17_800, 15],
      ['v2.autoscaling', 'onstart', 17_500, 30],
      ['v1beta1.metrics.k8s.io', 'absent', 100, 100],
      ['v1.example.com', 'true', 1000, 100],
    ],
  );
});

test('more definitions add only versions that are not known yet', () => {
  const isCustom = { readBody: () => undefined };
  const known = localServices([kind('apps', 'v1'), kind('example.com', 'v1', isCustom)]);
  const storage = kind('example.com', '', { isInternal: true });
  assert.equal(withServices(known, [storage, kind('apps', 'v1'), kind('example.com', 'v1', isCustom)]), known);
  const more = [kind('example.com', 'v2', isCustom)];
  const all = [kind('apps', 'v1'), kind('example.com', 'v1', isCustom), ...more];
  assert.deepEqual(withServices(known, more), localServices(all));
});

const desired = (management: LocalService['management']): LocalService => ({
  name: 'v1.a',
  management,
  spec: { group: 'a', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 },
});
const current = (label: string | undefined, rest: Partial<APIService['spec']> = {}): APIService => ({
  metadata: {
    name: 'v1.a',
    namespace: '',
    uid: 'u',
    ...(label !== undefined && { labels: { [AUTO_MANAGED_LABEL]: label } }),
  },
  spec: { group: 'a', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1, ...rest },
});
const taken = { service: { namespace: 'n', name: 's', port: 443 } };

test('built-in ones are set right at each start only; what a user deletes meanwhile stays away', () => {
  assert.deepEqual(
    [
      planService(desired('onstart'), undefined, true),
      planService(desired('onstart'), undefined, false),
      planService(desired('onstart'), current('onstart', { versionPriority: 9 }), true),
      planService(desired('onstart'), current('onstart', { versionPriority: 9 }), false),
      planService(desired('onstart'), current('onstart'), true),
    ],
    ['create', 'none', 'update', 'none', 'none'],
  );
});

test('those of custom kinds are kept, and go with them', () => {
  assert.deepEqual(
    [
      planService(desired('true'), undefined, false),
      planService(desired('true'), current('true', taken), false),
      planService(undefined, current('true'), false),
      planService(undefined, current('onstart'), false),
      planService(undefined, current('onstart'), true),
    ],
    ['create', 'update', 'delete', 'none', 'delete'],
  );
});

test('one without the label is the user’s, whatever it says', () => {
  assert.deepEqual(
    [
      planService(desired('true'), current(undefined, taken), true),
      planService(desired('onstart'), current(undefined, taken), true),
      planService(undefined, current(undefined), true),
      planService(undefined, current('true', taken), true),
    ],
    ['none', 'none', 'none', 'none'],
  );
});

test('metrics.k8s.io may be taken over, also with the label, and is given back when it is deleted', () => {
  assert.deepEqual(
    [
      planService(desired('absent'), current('onstart', taken), true),
      planService(desired('absent'), current('onstart', taken), false),
      planService(desired('absent'), undefined, false),
    ],
    ['none', 'none', 'create'],
  );
});
