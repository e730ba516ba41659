import { object, set, string } from '../../../api/schema/schema.ts';
import type { Infer } from '../../../api/schema/schema.ts';
import { FieldErrors, formatFieldError } from '../../../api/validation/field-error.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../../../api/validation/names.ts';
import { readConfig } from '../configuration/admission-configuration.ts';
import { levelProblem, parseLevel, parseVersion, VERSION_PROBLEM } from './policy.ts';
import type { LevelVersion } from './policy.ts';
import type { PodSecuritySettings } from './pod-security.ts';

/** PodSecurityConfiguration of pod-security.admission.config.k8s.io. */
const PodSecurityConfigurationSchema = object('PodSecurityConfiguration', {
  kind: string,
  apiVersion: string,
  defaults: object('PodSecurityDefaults', {
    enforce: string,
    'enforce-version': string,
    audit: string,
    'audit-version': string,
    warn: string,
    'warn-version': string,
  }),
  exemptions: object('PodSecurityExemptions', {
    usernames: set(string),
    namespaces: set(string),
    runtimeClasses: set(string),
  }),
});
const kind = {
  kind: 'PodSecurityConfiguration',
  apiVersions: ['v1', 'v1beta1', 'v1alpha1'].map((version) => `pod-security.admission.config.k8s.io/${version}`),
};

/** The settings, or their error. */
export function readPodSecurityConfiguration(document: unknown): PodSecuritySettings | string {
  const read = readConfig<Infer<typeof PodSecurityConfigurationSchema>>(PodSecurityConfigurationSchema, document, kind);
  if (typeof read === 'string') return read;
  const errors = new FieldErrors();
  const { defaults = {}, exemptions = {} } = read;
  const levelOf = (mode: 'enforce' | 'audit' | 'warn'): LevelVersion => {
    const [level, version] = [defaults[mode] || 'privileged', defaults[`${mode}-version`] || 'latest'];
    const [parsed, minor] = [parseLevel(level), parseVersion(version)];
    if (parsed === undefined) errors.invalid(`defaults.${mode}`, level, levelProblem);
    if (minor === undefined) errors.invalid(`defaults.${mode}-version`, version, VERSION_PROBLEM);
    return { level: parsed ?? 'restricted', minor: minor ?? Infinity };
  };
  // In upstream's order.
  const [enforce, warn, audit] = [levelOf('enforce'), levelOf('warn'), levelOf('audit')];
  const { namespaces = [], runtimeClasses = [], usernames = [] } = exemptions;
  checkEach(errors, 'exemptions.namespaces', namespaces, checkDnsLabel);
  checkEach(errors, 'exemptions.runtimeClasses', runtimeClasses, checkDnsSubdomain);
  checkEach(errors, 'exemptions.usernames', usernames, (name) => (name === '' ? ['username must not be empty'] : []));
  if (errors.list.length > 0) return errors.list.map(formatFieldError).join(', ');
  return { defaults: { enforce, warn, audit }, exemptions: { namespaces, runtimeClasses, usernames } };
}

function checkEach(
  errors: FieldErrors,
  field: string,
  values: readonly string[],
  check: (value: string) => readonly string[],
): void {
  for (const [index, value] of values.entries()) {
    const problems = check(value);
    if (problems.length > 0) errors.invalid(`${field}[${index}]`, value, problems.join(', '));
    else if (values.indexOf(value) < index) errors.duplicate(`${field}[${index}]`, value);
  }
}
