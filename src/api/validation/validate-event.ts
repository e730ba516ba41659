import type { Event } from '../core/event.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { validateImmutable } from './immutable.ts';
import { byteLength, checkDnsSubdomain, checkLabelKey } from './names.ts';

/** The API group of the request: the newer one has stricter rules and other field names. */
export type EventApi = 'core' | 'events';

/**
 * Validates a stored event, except its metadata (upstream: core/validation ValidateEventCreate, whose paths are those
 * of its internal type).
 */
export function validateEvent(event: Event, api: EventApi): FieldError[] {
  const errors = new FieldErrors();
  validateSharedRules(errors, event, api);
  if (api === 'core') return errors.list;
  validateSeries(errors, event);
  if (event.eventTime === undefined) errors.required('eventTime');
  const { type = '', firstTimestamp, lastTimestamp, count = 0, source } = event;
  if (type !== 'Normal' && type !== 'Warning') errors.invalid('type', '', `has invalid value: ${type}`);
  if (firstTimestamp !== undefined) errors.invalid('firstTimestamp', '', 'needs to be unset');
  if (lastTimestamp !== undefined) errors.invalid('lastTimestamp', '', 'needs to be unset');
  if (count !== 0) errors.invalid('count', '', 'needs to be unset');
  if (source?.component || source?.host) errors.invalid('source', '', 'needs to be unset');
  return errors.list;
}

/** In the newer group, only the series may change. */
export function validateEventUpdate(event: Event, old: Event, api: EventApi): FieldError[] {
  const errors = new FieldErrors();
  validateSharedRules(errors, event, api);
  if (api === 'core') return errors.list;
  if (event.series?.count !== old.series?.count || event.series?.lastObservedTime !== old.series?.lastObservedTime)
    validateSeries(errors, event);
  for (const field of [
    'involvedObject',
    'reason',
    'message',
    'source',
    'firstTimestamp',
    'lastTimestamp',
    'count',
    'type',
  ] as const)
    validateImmutable(errors, field, event[field], old[field]);
  if (microseconds(event.eventTime) !== microseconds(old.eventTime))
    validateImmutable(errors, 'eventTime', event.eventTime, old.eventTime);
  validateImmutable(errors, 'action', event.action, old.action);
  validateImmutable(errors, 'related', event.related, old.related);
  validateImmutable(errors, 'reportingController', event.reportingComponent, old.reportingComponent);
  validateImmutable(errors, 'reportingInstance', event.reportingInstance, old.reportingInstance);
  return errors.list;
}

function validateSeries(errors: FieldErrors, { series }: Event): void {
  if (series === undefined) return;
  if ((series.count ?? 0) < 2) errors.invalid('series.count', '', 'should be at least 2');
  if (series.lastObservedTime === undefined) errors.required('series.lastObservedTime');
}

/** Events with an `eventTime` follow the newer rules, in either group. */
function validateSharedRules(errors: FieldErrors, event: Event, api: EventApi): void {
  const { metadata, involvedObject } = event;
  const about = involvedObject.namespace ?? '';
  const mismatch = (): void => errors.invalid('involvedObject.namespace', about, 'does not match event.namespace');
  if (event.eventTime === undefined) {
    if (about === '' ? metadata.namespace !== '' && metadata.namespace !== 'default' : metadata.namespace !== about)
      mismatch();
  } else {
    if (about === '' && metadata.namespace !== 'default' && metadata.namespace !== 'kube-system') mismatch();
    validateReporter(errors, event, api === 'core' ? 'reportingComponent' : 'reportingController');
  }
  errors.invalidEach('namespace', metadata.namespace, checkDnsSubdomain(metadata.namespace));
}

function validateReporter(errors: FieldErrors, event: Event, controllerField: string): void {
  const { reportingComponent, reportingInstance, action = '', reason = '', message = '' } = event;
  if (reportingComponent === '') errors.required(controllerField);
  errors.invalidEach(controllerField, reportingComponent, checkLabelKey(reportingComponent));
  validateText(errors, 'reportingInstance', { text: reportingInstance, max: 128, mandatory: true });
  validateText(errors, 'action', { text: action, max: 128, mandatory: true });
  validateText(errors, 'reason', { text: reason, max: 128, mandatory: true });
  validateText(errors, 'message', { text: message, max: 1024, mandatory: false });
}

function validateText(
  errors: FieldErrors,
  field: string,
  { text, max, mandatory }: { readonly text: string; readonly max: number; readonly mandatory: boolean },
): void {
  if (mandatory && text === '') errors.required(field);
  if (byteLength(text) > max) errors.invalid(field, '', `can have at most ${max} characters`);
}

/** Stored times have six decimals, times of clients up to nine. */
function microseconds(time: string | undefined): string | undefined {
  if (time === undefined) return undefined;
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
  return `${Date.parse(time.replace(/\.\d+/, ''))}.${fraction.slice(0, 6).padEnd(6, '0')}`;
}
