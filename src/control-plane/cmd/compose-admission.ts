import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { createCertificateApproval, createCertificateRequestSignature, createCertificateSigning, createCertificateSubjectRestriction } from '../admission/certificates.ts';
import { createDefaultTolerationSeconds } from '../admission/default-toleration-seconds.ts';
import { createNamespaceLifecycle } from '../admission/namespace-lifecycle.ts';
import { createNodeRestriction } from '../admission/node-restriction.ts';
import { createPriority } from '../admission/priority.ts';
import { createRuntimeClassAdmission } from '../admission/runtime-class.ts';
import { createServiceAccountAdmission } from '../admission/service-account.ts';
import { taintNodesByCondition } from '../admission/taint-nodes-by-condition.ts';
import { createRbacEscalationCheck } from '../authz/rbac/rbac-escalation.ts';
import type { RoleGrants } from '../authz/rbac/role-grants.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type { Authorizer } from '../model/user-info.ts';
import type { CertificateRequest } from '../pki/request-reader.ts';
import type { ControlPlaneOptions } from './control-plane-options.ts';

export interface AdmissionParts {
  readonly reader: ObjectReader;
  readonly grants: RoleGrants;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly random: Random;
}

/** All plugins that are on, in upstream's order (kubeapiserver/options AllOrderedPlugins). */
export function composeAdmission(options: ControlPlaneOptions, { reader, grants, authorizer, clock, random }: AdmissionParts): readonly AdmissionPlugin[] {
  const ordered: readonly AdmissionPlugin[] = [
    createNamespaceLifecycle(reader),
    createServiceAccountAdmission({ reader, clock, random }),
    createNodeRestriction({ reader, authorizer, readCommonName: async (pem) => (await readRequest(pem)).commonName }),
    taintNodesByCondition,
    createPriority(reader),
    createDefaultTolerationSeconds({ seconds: options.tolerationSeconds }),
    createRuntimeClassAdmission(reader),
    createCertificateApproval(authorizer),
    createCertificateSigning(authorizer),
    createCertificateSubjectRestriction(readRequest),
    createCertificateRequestSignature(readRequest),
    createRbacEscalationCheck(grants, authorizer),
  ];
  return ordered.filter(({ name }) => !options.disabledAdmission.includes(name));
}

/** What reads requests costs memory, and they are rare. */
async function readRequest(pem: string): Promise<CertificateRequest> {
  const { readCertificateRequest } = await import('../pki/request-reader.ts');
  return readCertificateRequest(pem);
}
