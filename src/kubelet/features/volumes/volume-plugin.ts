import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { Volume } from '../../../api/core/volume.ts';
import type { MountedVolume } from '../../model/pod-volumes.ts';

type Maybe<T> = T | undefined | Promise<T | undefined>;

/** Where volumes get their objects from; undefined for what does not exist. Secrets have `stringData` folded into `data`. */
export interface ObjectLookup {
  configMap(namespace: string, name: string): Maybe<ConfigMap>;
  secret(namespace: string, name: string): Maybe<Secret>;
}

export interface ObjectRef {
  kind: 'ConfigMap' | 'Secret';
  name: string;
}

export interface VolumeRequest {
  pod: Pod;
  volume: Volume;
  /** `<root>/pods/<uid>/volumes/<plugin>/<name>`: where this volume lives if it has a place of its own. */
  path: string;
  /** Whether something is mounted at `path`, when that is known (from the look around at start). */
  mounted: boolean | undefined;
}

/**
 * One kind of volume. `setUp` is idempotent: it makes what is missing and leaves alone what is there, so that it also serves a restarted agent
 * and, for kinds that follow objects, the refresh. Taking down is the same for all kinds and is done by the manager: unmount, then remove.
 */
export interface VolumePlugin {
  /** As upstream escapes it in folder names: `kubernetes.io~empty-dir`. */
  readonly folder: string;
  supports(volume: Volume): boolean;
  /** The objects, in the pod's namespace, whose change changes the volume. */
  objectsOf(volume: Volume): readonly ObjectRef[];
  /** Whether the content also depends on the pod's own metadata. */
  followsPod(volume: Volume): boolean;
  /** Rejects with the message that users see after `MountVolume.SetUp failed for volume "x" : `. */
  setUp(request: VolumeRequest): Promise<MountedVolume>;
}
