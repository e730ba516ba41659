import type { Authorizer, UserInfo } from '../model/user-info.ts';

/** Whether the user has the verb for this signer, or for all signers of its domain. */
export async function mayForSigner(
  authorizer: Authorizer,
  user: UserInfo,
  verb: 'approve' | 'attest' | 'sign',
  signerName: string,
): Promise<boolean> {
  const [domain = ''] = signerName.split('/');
  for (const name of [signerName, `${domain}/*`]) {
    const { decision } = await authorizer.authorize({
      user,
      verb,
      resourceRequest: true,
      apiGroup: 'certificates.k8s.io',
      apiVersion: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      name,
      path: '',
    });
    if (decision === 'allow') return true;
  }
  return false;
}
