import { Buffer } from 'node:buffer';
import type { ISCSIPersistentVolumeSource } from '../../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ISCSIVolumeSource } from '../../../../api/core/volume-source-remote.ts';
import type { Clock } from '../../../../base/clock.ts';
import { sleep } from '../../../../base/clock.ts';
import { errorMessage, isKind, KubeletError } from '../../../../base/errors.ts';
import { KeyedQueue } from '../../../../base/keyed-queue.ts';
import type { ClusterObjects } from '../../../ports/cluster-objects.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { Processes } from '../../../ports/processes.ts';
import type { StagedVolume, VolumeSpec } from '../../../ports/volume-plugin.ts';
import { ScsiBus } from './scsi-bus.ts';
import type { DiskSource } from './staged-disk.ts';

const CALL_LIMIT_MS = 60_000;
const OUTPUT_LIMIT_BYTES = 256 * 1024;
const DEVICE_LOOK_MS = 500;
const DEVICE_LIMIT_MS = 30_000;
const SECRET_TYPE = 'kubernetes.io/iscsi-chap';
/** Exit codes of iscsiadm(8): the session exists already; no object found. */
const ALREADY = 15;
const nothingThere = [2, 21];
const DISCOVERY_KEYS = ['username', 'password', 'username_in', 'password_in'].map(
  (word) => `discovery.sendtargets.auth.${word}`,
);
const SESSION_KEYS = ['username', 'password', 'username_in', 'password_in'].map((word) => `node.session.auth.${word}`);

type Source = ISCSIVolumeSource | ISCSIPersistentVolumeSource;

interface Target {
  readonly portals: readonly string[];
  readonly iqn: string;
  readonly lun: number;
  readonly iface: string;
  /** The interface from which a new one is created, if the volume names an initiator. */
  readonly copyOf: string | undefined;
  readonly initiator: string;
}

export interface IscsiParts {
  readonly files: HostFiles;
  readonly processes: Processes;
  readonly objects: ClusterObjects;
  readonly clock: Clock;
}

function sourceOf(spec: VolumeSpec): Source | undefined {
  return spec.kind === 'inline' ? spec.volume.iscsi : spec.persistentVolume.spec.iscsi;
}

/**
 * Whether iscsiadm may use the name as a file name and write it as a line into files: it is no path and no option, and
 * has no line break.
 */
const isRecordName = (name: string): boolean => !name.startsWith('-') && name !== '..' && !/[/\s\p{Cc}]/u.test(name);

const withPort = (portal: string): string =>
  /:\d+$/.test(portal.replace(/^\[[^\]]*\]/, '')) ? portal : `${portal}:3260`;

function targetOf(spec: VolumeSpec): Target {
  const {
    targetPortal = '',
    portals = [],
    iqn = '',
    lun = 0,
    iscsiInterface = 'default',
    initiatorName = '',
  } = sourceOf(spec) ?? {};
  const all = [...new Set([targetPortal, ...portals].map(withPort))];
  const cloned = initiatorName === '' ? undefined : iscsiInterface;
  return {
    portals: all,
    iqn,
    lun,
    iface: cloned === undefined ? iscsiInterface : `${all[0]}:${spec.name}`,
    copyOf: cloned,
    initiator: initiatorName,
  };
}

/**
 * Attaches disks of iSCSI targets through iscsiadm (upstream: iscsi_util.go): discovery, login, one LUN, and the device
 * by its path. It logs out when no other disk of the target is in use. iscsiadm accepts CHAP secrets as arguments only,
 * so during a call they are visible in the process list, as in upstream.
 */
export class IscsiDisks implements DiskSource {
  readonly name = 'kubernetes.io/iscsi';
  readonly sourceOf = sourceOf;
  readonly #parts: IscsiParts;
  readonly #bus: ScsiBus;
  /** Runs logins and logouts of one target one after another. */
  readonly #targets = new KeyedQueue();

  constructor(parts: IscsiParts) {
    this.#parts = parts;
    this.#bus = new ScsiBus(parts.files);
  }

  describe(spec: VolumeSpec): { id: string; folder: string; context: Record<string, string> } {
    const { portals, iqn, lun, iface, copyOf, initiator } = targetOf(spec);
    const names = [...portals, iqn, iface, ...(copyOf === undefined ? [] : [copyOf, initiator])];
    if (names.some((name) => !isRecordName(name)) || portals.some((portal) => portal.includes(',')))
      throw new KubeletError('Invalid', `iscsi: ${JSON.stringify(names.join(' '))} names no target`);
    return {
      id: `${portals[0]}:${iqn}:${lun}`,
      folder: `iface-${iface}/${portals[0]}-${iqn}-lun-${lun}`,
      context: { portals: portals.join(','), iqn, lun: String(lun), iface, ownIface: String(copyOf !== undefined) },
    };
  }

  attach(spec: VolumeSpec, pod: Pod): Promise<string> {
    return this.#targets.run(targetOf(spec).iqn, async () => {
      const target = targetOf(spec);
      const transport = await this.#transportOf(target);
      const secret = await this.#secretOf(spec, pod);
      const devices: string[] = [];
      const errors: string[] = [];
      for (const portal of target.portals) {
        try {
          devices.push(await this.#attachBy(portal, target, { transport, source: sourceOf(spec), secret }));
        } catch (error) {
          errors.push(errorMessage(error));
        }
      }
      const [device] = devices;
      if (device === undefined)
        throw new KubeletError(
          'Unavailable',
          `failed to get any path for iscsi disk, last err seen:\n${errors.at(-1) ?? ''}`,
        );
      const disk = await this.#diskOf(device);
      return (await this.#bus.multipathOf(disk)) ?? device;
    });
  }

  detach(context: Readonly<Record<string, string>>, others: readonly StagedVolume[]): Promise<void> {
    const { iqn = '', portals = '', iface = 'default', ownIface, device = '' } = context;
    return this.#targets.run(iqn, async () => {
      if (device !== '') await this.#removeDisks(device);
      if (
        others.some(
          (other) =>
            other.context?.['iqn'] === iqn && other.context['portals']?.split(',')[0] === portals.split(',')[0],
        )
      )
        return;
      for (const portal of portals.split(',')) {
        await this.#call(['-m', 'node', '-p', portal, '-T', iqn, '--logout', '-I', iface], nothingThere);
        await this.#call(['-m', 'node', '-p', portal, '-T', iqn, '-o', 'delete', '-I', iface], nothingThere);
      }
      if (ownIface === 'true') await this.#call(['-m', 'iface', '-I', iface, '-o', 'delete'], nothingThere);
    });
  }

  async #attachBy(
    portal: string,
    target: Target,
    more: { transport: string; source: Source | undefined; secret: Readonly<Record<string, string>> },
  ): Promise<string> {
    const { iqn, lun } = target;
    let host = (await this.#bus.iscsiHosts(iqn)).get(portal);
    if (host === undefined) {
      await this.#logIn(portal, target, more);
      host = (await this.#bus.iscsiHosts(iqn)).get(portal);
      if (host === undefined)
        throw new KubeletError('Unavailable', `iscsi: no session to portal ${portal} after its login`);
    }
    await this.#bus.scanLun(host, lun);
    return this.#deviceBy(portal, target, more.transport);
  }

  async #logIn(
    portal: string,
    { iqn, iface }: Target,
    { source, secret }: { source: Source | undefined; secret: Readonly<Record<string, string>> },
  ): Promise<void> {
    const discovery = ['-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', iface];
    const node = ['-m', 'node', '-p', portal, '-T', iqn, '-I', iface];
    await this.#call([...discovery, '-o', 'new']).catch(() => undefined);
    if (source?.chapAuthDiscovery === true)
      await this.#setSecrets(discovery, {
        method: 'discovery.sendtargets.auth.authmethod',
        keys: DISCOVERY_KEYS,
        secret,
      });
    try {
      await this.#call([...discovery, '--discover']);
    } catch (error) {
      await this.#call([...discovery, '-o', 'delete']).catch(() => undefined);
      throw new KubeletError(
        'Unavailable',
        `iscsi: failed to sendtargets to portal ${portal}: ${errorMessage(error)}`,
        { cause: error },
      );
    }
    // Other LUNs of the target stay hidden (upstream: kubernetes/kubernetes#90982); older versions do not know the
    // setting.
    await this.#call([...node, '-o', 'update', '-n', 'node.session.scan', '-v', 'manual']).catch(() => undefined);
    if (source?.chapAuthSession === true)
      await this.#setSecrets(node, { method: 'node.session.auth.authmethod', keys: SESSION_KEYS, secret });
    try {
      await this.#call([...node, '--login'], [ALREADY]);
    } catch (error) {
      await this.#call([...node, '-o', 'delete']).catch(() => undefined);
      throw new KubeletError('Unavailable', `iscsi: failed to attach disk: Error: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    // Otherwise a reboot would wait for an unreachable target.
    await this.#call([
      '-m',
      'node',
      '-p',
      portal,
      '-T',
      iqn,
      '-o',
      'update',
      '-n',
      'node.startup',
      '-v',
      'manual',
    ]).catch(() => undefined);
  }

  /** Sets the secrets. Errors name the key, never the value. */
  async #setSecrets(
    record: readonly string[],
    { method, keys, secret }: { method: string; keys: readonly string[]; secret: Readonly<Record<string, string>> },
  ): Promise<void> {
    const wanted: [string, string][] = [
      [method, 'CHAP'],
      ...keys.flatMap((key): [string, string][] => (secret[key] === undefined ? [] : [[key, secret[key]]])),
    ];
    // A line break would start another setting of the record.
    const broken = wanted.find(([, value]) => /\p{Cc}/u.test(value));
    if (broken !== undefined)
      throw new KubeletError('Invalid', `iscsi: the value of "${broken[0]}" has control characters`);
    for (const [key, value] of wanted) {
      const { exitCode } = await this.#run([...record, '-o', 'update', '-n', key, '-v', value]);
      if (exitCode !== 0)
        throw new KubeletError(
          'Unavailable',
          `iscsi: failed to update key "${key}" with CHAP: exit status ${exitCode}`,
        );
    }
  }

  async #transportOf({ iface, copyOf, initiator }: Target): Promise<string> {
    const shown = await this.#call(['-m', 'iface', '-I', copyOf ?? iface, '-o', 'show']);
    if (copyOf !== undefined) await this.#copyIface(iface, initiator, shown);
    const transport = /^iface\.transport_name = (.*)$/m.exec(shown)?.[1] ?? '';
    if (transport === '') throw new KubeletError('Unavailable', `could not parse iface file for ${iface}`);
    return transport === '<empty>' ? 'tcp' : transport;
  }

  async #copyIface(iface: string, initiator: string, shown: string): Promise<void> {
    const settings = new Map(
      [...shown.matchAll(/^(iface\.\S+) = (.*)$/gm)].map(([, key = '', value = '']) => [key, value]),
    );
    settings.delete('iface.iscsi_ifacename');
    settings.set('iface.initiatorname', initiator);
    await this.#call(['-m', 'iface', '-I', iface, '-o', 'new'], [ALREADY]);
    for (const [key, value] of [...settings].sort())
      if (value !== '<empty>') await this.#call(['-m', 'iface', '-I', iface, '-o', 'update', '-n', key, '-v', value]);
  }

  async #deviceBy(portal: string, { iqn, lun }: Target, transport: string): Promise<string> {
    const suffix = `ip-${portal.replaceAll(/[[\]]/g, '')}-iscsi-${iqn}-lun-${lun}`;
    const fits = (name: string): boolean =>
      transport === 'tcp' ? name === suffix : name.startsWith('pci-') && name.endsWith(`-${suffix}`);
    const { clock, files } = this.#parts;
    const endMs = clock.monotonicMs() + DEVICE_LIMIT_MS;
    for (;;) {
      const name = (await files.list('/dev/disk/by-path')).find(fits);
      if (name !== undefined) return `/dev/disk/by-path/${name}`;
      if (clock.monotonicMs() >= endMs)
        throw new KubeletError(
          'Timeout',
          `Timed out waiting for device at path /dev/disk/by-path/${suffix} after ${DEVICE_LIMIT_MS / 1000}s`,
        );
      await sleep(clock, DEVICE_LOOK_MS);
    }
  }

  /** Returns `/dev/sdx` for `/dev/disk/by-path/...`. */
  async #diskOf(device: string): Promise<string> {
    const info = await this.#parts.files.lstat(device);
    if (info?.type !== 'symlink') return device;
    return `/dev/${(await this.#parts.files.readLink(device)).split('/').at(-1)}`;
  }

  async #removeDisks(device: string): Promise<void> {
    const disk = await this.#diskOf(device);
    const multipath = await this.#bus.multipathOf(disk);
    const disks = multipath === undefined ? [disk] : await this.#bus.slavesOf(multipath);
    if (multipath !== undefined)
      await this.#parts.processes.run('multipath', ['-f', multipath], {
        timeoutMs: CALL_LIMIT_MS,
        outputLimitBytes: OUTPUT_LIMIT_BYTES,
      });
    for (const one of disks) await this.#bus.removeDisk(one);
  }

  async #secretOf(spec: VolumeSpec, pod: Pod): Promise<Readonly<Record<string, string>>> {
    const source = sourceOf(spec);
    if (source?.secretRef === undefined || (source.chapAuthDiscovery !== true && source.chapAuthSession !== true))
      return {};
    const { name = '' } = source.secretRef;
    const namespace =
      ('namespace' in source.secretRef ? source.secretRef.namespace : undefined) ?? pod.metadata.namespace;
    const secret = await this.#parts.objects.get('Secret', namespace, name);
    if (secret === undefined)
      throw new KubeletError('NotFound', `couldn't get secret ${namespace}/${name} error: secrets "${name}" not found`);
    if (secret.type !== SECRET_TYPE)
      throw new KubeletError(
        'Invalid',
        `couldn't get secret ${namespace}/${name} error: cannot get secret of type ${secret.type ?? 'Opaque'}`,
      );
    return Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
    );
  }

  async #call(args: readonly string[], alsoFine: readonly number[] = []): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#run(args);
    if (exitCode !== 0 && !alsoFine.includes(exitCode))
      throw new KubeletError(
        'Unavailable',
        `iscsiadm ${args.slice(0, 2).join(' ')}: exit status ${exitCode}: ${stderr.trim() || stdout.trim()}`,
      );
    return stdout;
  }

  async #run(args: readonly string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
    try {
      return await this.#parts.processes.run('iscsiadm', args, {
        timeoutMs: CALL_LIMIT_MS,
        outputLimitBytes: OUTPUT_LIMIT_BYTES,
        env: { LC_ALL: 'C' },
      });
    } catch (error) {
      if (isKind(error, 'NotFound'))
        throw new KubeletError(
          'Unavailable',
          'iscsiadm is not installed on this node: it is in the package open-iscsi (Debian, Ubuntu, SUSE) or iscsi-initiator-utils (Fedora, RHEL)',
          { cause: error },
        );
      throw error;
    }
  }
}
