/** Identifies a device, and a share of it. */
export interface DeviceReference {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string | undefined;
}

/** `driver/pool/device`, with `/shareID` for a share. It is unique, because only the pool may contain slashes. */
export function deviceKey({ driver, pool, device, shareID }: DeviceReference): string {
  return shareID === undefined ? `${driver}/${pool}/${device}` : `${driver}/${pool}/${device}/${shareID}`;
}
