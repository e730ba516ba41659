import type { UserInfo as UserInfoBody } from '../../../api/authentication/token-review.ts';
import type { UserInfo } from '../../model/user-info.ts';

export function userBody({ name, uid, groups, extra }: UserInfo): UserInfoBody {
  const attributes = Object.entries(extra ?? {}).map(([key, values]): [string, string[]] => [key, [...values]]);
  return {
    username: name,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(attributes.length > 0 && { extra: Object.fromEntries(attributes) }),
  };
}
