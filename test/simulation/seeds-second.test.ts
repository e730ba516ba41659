import { describeSeeds } from './seeds.ts';

describeSeeds(2, 2);
