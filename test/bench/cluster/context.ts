/** The parameters of every measurement of the cluster part. */
import type { HttpApiClient } from '../../../src/client/http-api-client.ts';
import type { TestContainerd } from '../../integration/support/containerd.ts';
import { RawPod } from '../raw-pod.ts';
import type { Row } from '../report.ts';
import type { Member } from './member.ts';
import type { ClusterBenchOptions } from './options.ts';
import type { PodBoard } from './pod-board.ts';

export interface ClusterContext {
  readonly containerd: TestContainerd;
  readonly member: Member;
  readonly board: PodBoard;
  /** A client with an administrator's rights. */
  readonly client: HttpApiClient;
  readonly options: ClusterBenchOptions;
  add(row: Row): void;
  /** Adds a result that is not a number; it is shown below the table. */
  note(text: string): void;
  /** Reports progress on standard error. */
  say(text: string): void;
}

export const wants = ({ options }: ClusterContext, ...rows: readonly ClusterBenchOptions['only'][number][]): boolean =>
  rows.some((row) => options.only.includes(row));

/** A pod of the floor with the settings that a pod of a cluster has. */
export const rawPod = ({ containerd }: ClusterContext, name: string): RawPod =>
  new RawPod(containerd, name, { inCluster: true });
