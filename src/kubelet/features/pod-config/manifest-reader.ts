import { OVERHEAD_WITHOUT_CLASS } from '../../../api/apply-runtime-class.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { loadManifest } from '../../../api/manifest/load-manifest.ts';
import type { KindedObject } from '../../../api/manifest/manifest-kinds.ts';
import { inDefaultNamespace, validateObject } from '../../../api/manifest/manifest-kinds.ts';
import { objectWarnings } from '../../../api/validation/object-warnings.ts';
import { podWarnings } from '../../../api/validation/pod/pod-warnings.ts';
import type { ManifestOrigin } from './static-pod.ts';
import { originName, selectForbiddenReference, toStaticPod } from './static-pod.ts';

/** The size limit. Larger manifests are rejected without being read (upstream: config/common.go). */
export const MANIFEST_LIMIT_BYTES = 10 * 1024 * 1024;

/** A problem that a user must fix, with its place. Lines and columns count from 1. */
export interface ManifestProblem {
  /** The path, URL or name of the manifest. */
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  /** The field, such as `spec.containers[0].image`. */
  readonly path?: string;
  readonly message: string;
  /** Absent for an error. A warning does not prevent anything from running. */
  readonly severity?: 'warning';
}

/** The rules of the node for reading manifests, the same for every source. */
export interface ManifestRules {
  readonly nodeName: string;
  /**
   * Whether there is no API server. Then manifests may contain other objects than pods, and their pods may use them.
   */
  readonly standalone: boolean;
  /**
   * Validates a pod as this node would run it, after name, UID and namespace were set. `field` is in upstream's
   * notation.
   */
  readonly validate: (pod: Pod) => readonly { field: string; message: string }[];
  /** Whether static pods may name objects of the API; default false. */
  readonly mayReference?: boolean;
}

/** The content of one manifest, as this node would run it. */
export interface ManifestContent {
  readonly pods: readonly Pod[];
  readonly objects: readonly KindedObject[];
  /** If it is not empty, something was rejected, and the pods above are only the valid rest. */
  readonly errors: readonly ManifestProblem[];
  readonly warnings: readonly ManifestProblem[];
}

/** Decodes and validates one manifest. It never throws: every problem of the text is returned as an error. */
export function readManifest(text: string, origin: ManifestOrigin, rules: ManifestRules): ManifestContent {
  const file = originName(origin);
  const loaded = loadManifest(text, { fileName: file, limits: { maxBytes: MANIFEST_LIMIT_BYTES } });
  const errors: ManifestProblem[] = [...loaded.errors];
  const warnings: ManifestProblem[] = loaded.warnings.map((warning) => ({ ...warning, severity: 'warning' }));
  const pods: Pod[] = [];
  for (const pod of loaded.pods) {
    const { accepted, problems } = acceptPod(pod, origin, rules);
    const named = `pod ${pod.metadata.namespace === '' ? 'default' : pod.metadata.namespace}/${pod.metadata.name}: `;
    for (const problem of problems)
      errors.push({
        file,
        ...loaded.locate(pod, problem.field),
        path: problem.field,
        message: named + problem.message,
      });
    if (accepted === undefined) continue;
    pods.push(accepted);
    for (const { field, message } of podWarnings(accepted))
      warnings.push({ file, ...loaded.locate(pod, field), path: field, message: named + message, severity: 'warning' });
  }
  const foreign = loaded.objects[0];
  if (!rules.standalone && foreign !== undefined) {
    errors.push({
      file,
      ...loaded.locate(foreign.object, ''),
      message: `${foreign.kind} in a manifest: on a node with an API server manifests may only contain pods`,
    });
    return { pods, objects: [], errors, warnings };
  }
  const objects: KindedObject[] = [];
  for (const found of loaded.objects) {
    const entry = inDefaultNamespace(found);
    const problems = validateObject(entry);
    const { namespace, name } = entry.object.metadata;
    const named = `${entry.kind} ${namespace === '' ? '' : `${namespace}/`}${name}: `;
    for (const { field, message } of problems)
      errors.push({ file, ...loaded.locate(found.object, field), path: field, message: named + message });
    if (problems.length > 0) continue;
    objects.push(entry);
    for (const { field, message } of objectWarnings(entry))
      warnings.push({
        file,
        ...loaded.locate(found.object, field),
        path: field,
        message: named + message,
        severity: 'warning',
      });
  }
  return { pods, objects, errors, warnings };
}

function acceptPod(
  pod: Pod,
  origin: ManifestOrigin,
  rules: ManifestRules,
): { accepted?: Pod; problems: readonly { field: string; message: string }[] } {
  if (pod.metadata.name === '')
    return { problems: [{ field: 'metadata.name', message: 'invalid pod: name is needed for the pod' }] };
  const accepted = toStaticPod(pod, origin, rules.nodeName);
  const findings = rules.validate(accepted);
  if (findings.length > 0) return { problems: findings };
  if (rules.standalone && accepted.spec.overhead !== undefined && (accepted.spec.runtimeClassName ?? '') === '')
    return { problems: [{ field: 'spec.overhead', message: OVERHEAD_WITHOUT_CLASS }] };
  const forbidden =
    rules.mayReference === true ? undefined : selectForbiddenReference(accepted, { localObjects: rules.standalone });
  if (forbidden !== undefined)
    return { problems: [{ field: '', message: `static pods may not reference ${forbidden}` }] };
  return { accepted, problems: [] };
}

/** Formats a problem as `file:line:column: path: message`, without unknown parts. */
export function formatProblem(problem: ManifestProblem): string {
  const place = [problem.file, problem.line, problem.line === undefined ? undefined : problem.column]
    .filter((part) => part !== undefined)
    .join(':');
  return [place, problem.path, problem.message].filter((part) => part !== undefined && part !== '').join(': ');
}
