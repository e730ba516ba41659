import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultDockershimOptions, parseDockershim } from './dockershim-flags.ts';
import type { DockershimOptions } from './dockershim-flags.ts';

describe('flags of dockershim', () => {
  it('have defaults, and each changes one option', () => {
    const cases: readonly (readonly [string, Partial<DockershimOptions>])[] = [
      ['--container-runtime-endpoint=unix:///run/a.sock', { listen: 'unix:///run/a.sock' }],
      ['--docker-endpoint=unix:///run/b.sock', { dockerEndpoint: 'unix:///run/b.sock' }],
      ['--root-dir=/state', { rootFolder: '/state' }],
      ['--pod-infra-container-image=pause:2', { pauseImage: 'pause:2' }],
      ['--cni-conf-dir=/net.d', { cniConfigFolder: '/net.d' }],
      ['--cni-bin-dir=/a,/b', { cniPluginFolders: ['/a', '/b'] }],
      ['--image-pull-progress-deadline=1', { pullProgressTimeoutMs: 1000 }],
      ['--streaming-connection-idle-timeout=2000000', { streamingIdleMs: 2_000_000_000 }],
    ];
    assert.deepEqual(parseDockershim([]), { kind: 'run', options: defaultDockershimOptions });
    for (const [flag, changed] of cases)
      assert.deepEqual(parseDockershim([flag]), { kind: 'run', options: { ...defaultDockershimOptions, ...changed } });
    assert.deepEqual(parseDockershim(['--help']), { kind: 'help' });
  });

  it('are refused when their value has no use', () => {
    for (const [flag, said] of [
      ['--container-runtime-endpoint=tcp://127.0.0.1:1', /tcp/],
      ['--docker-endpoint=http://x', /http/],
      ['--root-dir=state', /--root-dir: "state" is not an absolute path/],
      ['--cni-conf-dir=', /--cni-conf-dir: "" is not an absolute path/],
      ['--cni-bin-dir=/a,b', /--cni-bin-dir: "b" is not an absolute path/],
      ['--image-pull-progress-deadline=0', /is not a number of seconds from 1 to 2000000/],
      ['--image-pull-progress-deadline=1.5', /is not a number of seconds/],
      ['--streaming-connection-idle-timeout=2000001', /is not a number of seconds/],
      ['--streaming-connection-idle-timeout=x', /is not a number of seconds/],
      ['--unknown', /unknown/],
    ] as const) {
      const parsed = parseDockershim([flag]);
      assert.match(parsed.kind === 'error' ? parsed.errors.join() : parsed.kind, said);
    }
  });
});
