/** By type, then by field; '' is the type itself. */
export type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;
