/** Where a device is found, and which share of it. */
export interface DeviceReference {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string | undefined;
}

/** `driver/pool/device`, with `/shareID` for a share: unique, since none of the parts but the pool holds a slash. */
export function deviceKey({ driver, pool, device, shareID }: DeviceReference): string {
  return shareID === undefined ? `${driver}/${pool}/${device}` : `${driver}/${pool}/${device}/${shareID}`;
}
