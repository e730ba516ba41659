import type { MachineIdentity } from '../../ports/stats.ts';
import type { ExtraLabels, GroupFamily, ListedGroup } from './cadvisor-families.ts';
import { groupFamilies } from './cadvisor-families.ts';
import { familyHead, labelText, labelValue, numberText, sampleLine } from './exposition.ts';

/** The labels of a group. All six are on every line, and empty if they do not apply. */
export interface GroupLabels {
  readonly container: string;
  /** The path of the group. */
  readonly id: string;
  readonly image: string;
  /** The container's id in the runtime. */
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
}

/** The formatted labels of a group, split at the places where other labels are sorted in. */
interface LabelParts {
  readonly container: string;
  readonly idAndImage: string;
  readonly nameAndNamespace: string;
  readonly pod: string;
}

function partsOf({ container, id, image, name, namespace, pod }: GroupLabels): LabelParts {
  return {
    container: `container="${labelValue(container)}"`,
    idAndImage: `,id="${labelValue(id)}",image="${labelValue(image)}"`,
    nameAndNamespace: `,name="${labelValue(name)}",namespace="${labelValue(namespace)}"`,
    pod: `,pod="${labelValue(pod)}"`,
  };
}

/** A line's own labels after each part of the group's labels. Writers of the format sort labels by name. */
type Places = readonly [string, string, string, string];

/** Caches the text of labels that are equal in all groups during one response. */
class OwnLabels {
  readonly #known = new Map<string, Places>();

  places(extra: ExtraLabels): Places {
    let key = '';
    for (const name in extra) key += `${name}\0${extra[name]}\0`;
    let places = this.#known.get(key);
    if (places === undefined) this.#known.set(key, (places = placesOf(extra)));
    return places;
  }
}

function placesOf(extra: ExtraLabels): Places {
  const places: [string, string, string, string] = ['', '', '', ''];
  for (const [name, value] of Object.entries(extra))
    places[name < 'id' ? 0 : name < 'name' ? 1 : name < 'pod' ? 2 : 3] += `,${name}="${labelValue(value)}"`;
  return places;
}

function lineLabels(parts: LabelParts, places: Places): string {
  return `${parts.container}${places[0]}${parts.idAndImage}${places[1]}${parts.nameAndNamespace}${places[2]}${parts.pod}${places[3]}`;
}

interface PreparedGroup {
  readonly group: ListedGroup;
  readonly parts: LabelParts;
  readonly plain: string;
  /** The text after values, by the kind of their time stamp. */
  readonly times: Readonly<Record<GroupFamily['timed'], string>>;
}

export interface ListingEntry {
  readonly labels: GroupLabels;
  readonly group: ListedGroup;
}

/** Generates the lines of one family at a time, so that the caller can run other work in between. */
export function* cadvisorChunks(
  machine: MachineIdentity,
  entries: readonly ListingEntry[],
  nowMs: number,
): Generator<string> {
  const prepared = entries.map(({ labels, group }): PreparedGroup => {
    const parts = partsOf(labels);
    const times = { none: '', now: ` ${Math.floor(group.nowMs)}`, sample: ` ${Math.floor(group.use.atMs)}` };
    return { group, parts, plain: parts.container + parts.idAndImage + parts.nameAndNamespace + parts.pod, times };
  });
  const own = new OwnLabels();
  yield versionText(machine);
  for (const family of groupFamilies) yield familyText(family, prepared, own);
  yield scrapeErrorText(
    'container_scrape_error',
    '1 if there was an error while getting container metrics, 0 otherwise',
  );
  yield machineText(machine, nowMs);
  yield scrapeErrorText('machine_scrape_error', '1 if there was an error while getting machine metrics, 0 otherwise.');
}

function familyText(
  { name, help, type, timed, values }: GroupFamily,
  groups: readonly PreparedGroup[],
  own: OwnLabels,
): string {
  let text = '';
  for (const { group, parts, plain, times } of groups) {
    const time = times[timed];
    values(
      group,
      (value, extra) =>
        (text += `${name}{${extra === undefined ? plain : lineLabels(parts, own.places(extra))}} ${numberText(value)}${time}\n`),
    );
  }
  return text === '' ? '' : familyHead(name, help, type) + text;
}

function scrapeErrorText(name: string, help: string): string {
  return familyHead(name, help, 'gauge') + sampleLine(name, '', 0);
}

function versionText({ kernelVersion, osVersion }: MachineIdentity): string {
  const name = 'cadvisor_version_info';
  const help =
    "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.";
  return (
    familyHead(name, help, 'gauge') +
    sampleLine(
      name,
      labelText({ cadvisorRevision: '', cadvisorVersion: '', dockerVersion: '', kernelVersion, osVersion }),
      1,
    )
  );
}

const machineFamilies: readonly {
  name: string;
  help: string;
  values: (machine: MachineIdentity) => readonly { value: number; mode?: string }[];
}[] = [
  { name: 'machine_cpu_books', help: 'CPU books of the machine. Always 0.', values: () => [{ value: 0 }] },
  { name: 'machine_cpu_cores', help: 'Logical CPUs of the machine.', values: ({ cores }) => [{ value: cores }] },
  { name: 'machine_cpu_drawers', help: 'CPU drawers of the machine. Always 0.', values: () => [{ value: 0 }] },
  {
    name: 'machine_cpu_physical_cores',
    help: 'Physical CPU cores of the machine.',
    values: ({ physicalCores }) => [{ value: physicalCores }],
  },
  { name: 'machine_cpu_sockets', help: 'CPU sockets of the machine.', values: ({ sockets }) => [{ value: sockets }] },
  {
    name: 'machine_memory_bytes',
    help: 'Memory of the machine, in bytes.',
    values: ({ memoryBytes }) => [{ value: memoryBytes }],
  },
  {
    name: 'machine_nvm_avg_power_budget_watts',
    help: 'Average power budget of non-volatile memory, in watts. Always 0.',
    values: () => [{ value: 0 }],
  },
  {
    name: 'machine_nvm_capacity',
    help: 'Non-volatile memory by mode, in bytes. Always 0.',
    values: () => [
      { value: 0, mode: 'app_direct_mode' },
      { value: 0, mode: 'memory_mode' },
    ],
  },
  {
    name: 'machine_swap_bytes',
    help: 'Swap of the machine, in bytes.',
    values: ({ swapBytes }) => [{ value: swapBytes }],
  },
];

function machineText(machine: MachineIdentity, nowMs: number): string {
  const { bootId, machineId, systemUuid } = machine;
  return machineFamilies
    .map(({ name, help, values }) => {
      const lines = values(machine).map(({ value, mode }) =>
        sampleLine(
          name,
          labelText({
            boot_id: bootId,
            machine_id: machineId,
            ...(mode !== undefined && { mode }),
            system_uuid: systemUuid,
          }),
          value,
          nowMs,
        ),
      );
      return familyHead(name, help, 'gauge') + lines.join('');
    })
    .join('');
}

/** The names of all families, for the test that compares the output with the specification. */
export const cadvisorFamilyNames: readonly string[] = [
  'cadvisor_version_info',
  'container_scrape_error',
  'machine_scrape_error',
  ...groupFamilies.map(({ name }) => name),
  ...machineFamilies.map(({ name }) => name),
];
