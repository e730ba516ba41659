import { Buffer } from 'node:buffer';
import { isRecord } from '../../../base/json-record.ts';
import type { PreparedDevice } from '../../ports/dra-drivers.ts';
import type { ClaimInfo } from './claim-info.ts';

const KIND = 'DRACheckpoint';
const API_VERSION = 'checkpoint.dra.kubelet.k8s.io/v1';

/** Encodes upstream's checkpoint `dra_manager_state` (upstream: cm/dra/state/checkpoint.go). */
export function encodeClaims(claims: Iterable<ClaimInfo>): string {
  const list = [...claims].map(({ uid, name, namespace, podUids, drivers }) => ({
    ClaimUID: uid,
    ClaimName: name,
    Namespace: namespace,
    PodUIDs: Object.fromEntries([...podUids].sort().map((podUid) => [podUid, {}])),
    DriverState: Object.fromEntries(
      [...drivers].map(([driver, devices]) => [driver, { Devices: devices.map(toFile) }]),
    ),
  }));
  const data = JSON.stringify({ kind: KIND, apiVersion: API_VERSION, ClaimInfoStateList: list });
  return JSON.stringify({ Data: data, Checksum: crc32(data) });
}

/** Decodes a checkpoint. Returns undefined if the text is not a complete checkpoint. */
export function decodeClaims(text: string): ClaimInfo[] | undefined {
  const outer = parsed(text);
  if (!isRecord(outer) || typeof outer['Data'] !== 'string' || outer['Checksum'] !== crc32(outer['Data']))
    return undefined;
  const data = parsed(outer['Data']);
  if (!isRecord(data)) return undefined;
  const list: unknown = data['ClaimInfoStateList'] ?? [];
  if (!Array.isArray(list)) return undefined;
  const claims = list.map(claimOf);
  return claims.includes(undefined) ? undefined : claims.filter((claim) => claim !== undefined);
}

function toFile({ poolName, deviceName, shareId, requestNames, cdiDeviceIds }: PreparedDevice): object {
  return {
    PoolName: poolName,
    DeviceName: deviceName,
    ShareID: shareId ?? null,
    RequestNames: requestNames,
    CDIDeviceIDs: cdiDeviceIds,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function claimOf(entry: unknown): ClaimInfo | undefined {
  if (!isRecord(entry)) return undefined;
  const { ClaimUID: uid, ClaimName: name, Namespace: namespace } = entry;
  if (typeof uid !== 'string' || typeof name !== 'string' || typeof namespace !== 'string') return undefined;
  const drivers = Object.entries(isRecord(entry['DriverState']) ? entry['DriverState'] : {}).map(
    ([driver, state]): [string, PreparedDevice[]] => {
      const devices: unknown = isRecord(state) ? state['Devices'] : undefined;
      return [driver, Array.isArray(devices) ? devices.filter(isRecord).map(deviceOf) : []];
    },
  );
  const podUids = Object.keys(isRecord(entry['PodUIDs']) ? entry['PodUIDs'] : {});
  return { uid, name, namespace, podUids: new Set(podUids), drivers: new Map(drivers) };
}

function deviceOf(entry: Readonly<Record<string, unknown>>): PreparedDevice {
  const { ShareID: shareId } = entry;
  return {
    poolName: textOf(entry['PoolName']),
    deviceName: textOf(entry['DeviceName']),
    shareId: typeof shareId === 'string' ? shareId : undefined,
    requestNames: textsOf(entry['RequestNames']),
    cdiDeviceIds: textsOf(entry['CDIDeviceIDs']),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

/** Computes the CRC-32 of IEEE 802.3, as Go's crc32.ChecksumIEEE. */
export function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
