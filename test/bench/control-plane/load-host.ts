/** The client process: runs one job after the other until its parent ends. */
import { errorMessage } from '../../../src/base/errors.ts';
import { jobs } from './load-jobs.ts';
import type { JobName } from './load-jobs.ts';

process.on('message', ({ name, job }: { name: JobName; job: never }) => {
  const run = jobs[name] as (job: never) => Promise<unknown>;
  run(job).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: `${name}: ${errorMessage(error)}` }),
  );
});
process.on('disconnect', () => process.exit());
