/** A part of a kubeconfig as YAML gives it. */
import { isRecord } from '../base/json-record.ts';
export type Section = Readonly<Record<string, unknown>>;

/** Go treats an empty string as absent. */
export const textOf = (section: Section, field: string): string | undefined => {
  const value = section[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

export const isTrue = (section: Section, field: string): boolean => section[field] === true;

/** The entry of that name in a list of `{name, KIND}`. */
export function find(list: unknown, name: string, kind: string): Section | undefined {
  const entry = Array.isArray(list)
    ? (list as readonly unknown[]).find((each): each is Section => isRecord(each) && each['name'] === name)
    : undefined;
  const section = entry?.[kind];
  return isRecord(section) ? section : undefined;
}
