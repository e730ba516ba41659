/** `bin/dockershim`: the CRI over Docker Engine. */
import { runMain } from '../../base/run-main.ts';
import { parseDockershim, USAGE } from './dockershim-flags.ts';
import { startDockershim } from './start-dockershim.ts';
import type { RunningDockershim } from './start-dockershim.ts';

await runMain(process, {
  name: 'dockershim',
  logName: 'dockershim',
  usage: USAGE,
  parse: parseDockershim,
  create: (options, log) => {
    let shim: RunningDockershim | undefined;
    return {
      start: async () => {
        shim = await startDockershim(options, log);
      },
      stop: async () => shim?.stop(),
    };
  },
});
