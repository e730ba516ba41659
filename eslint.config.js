import tseslint from 'typescript-eslint';
import { outsideLookup } from './scripts/lint/outside-lookup.ts';

const noAmbientTime = [
  { selector: "MemberExpression[object.name='Date'][property.name='now']", message: 'Inject Clock.' },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Inject Clock.' },
  { selector: "MemberExpression[object.name='Math'][property.name='random']", message: 'Inject Random.' },
  { selector: "MemberExpression[object.name='crypto'][property.name='randomUUID']", message: 'Inject Random.' },
];
const everywhere = [
  { selector: 'TSEnumDeclaration', message: 'Use a union of string literals.' },
  { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
  {
    selector: 'CatchClause > BlockStatement[body.length=0]',
    message: 'Say in a comment-bearing statement why an error may be dropped, or handle it.',
  },
];

/** Unit tests share one process: there, such a hook runs for the tests of all files. */
const always = [
  ...everywhere,
  {
    selector: 'Program > ExpressionStatement > CallExpression[callee.name=/^(before|after)Each$/]',
    message: 'Put the hook into a suite: outside of one it runs for every unit test of all files.',
  },
];

const config = tseslint.config(
  {
    ignores: [
      'node_modules/**',
      'dist/**',
      'src/cri/generated/**',
      'src/csi/generated/**',
      'src/control-plane/storage/etcd/generated/**',
      '.data/**',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommended],
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', package: 'node:test', name: ['test', 'it', 'describe', 'suite'] },
          ],
        },
      ],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      'max-lines': ['error', { max: 550, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 110, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 5],
      eqeqeq: ['error', 'always'],
      'no-restricted-syntax': ['error', ...always],
      'prefer-const': 'error',
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: [
      'src/base/**',
      'src/kubelet/adapters/**',
      'src/kubelet/cmd/**',
      'src/control-plane/cmd/**',
      'src/client/**',
      'src/up/**',
      'src/node-network/adapters/**',
      'src/node-network/cmd/**',
      'src/cri/**',
      '**/*.test.ts',
      '**/testing/**',
    ],
    rules: {
      'no-restricted-syntax': ['error', ...always, ...noAmbientTime],
      'no-restricted-globals': [
        'error',
        'setTimeout',
        'setInterval',
        'setImmediate',
        'performance',
        'process',
        'console',
        'fetch',
      ].flat(),
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: [
      '**/*.test.ts',
      '**/testing/**',
      'src/pki/request-reader.ts',
      'src/control-plane/pki/request-policy.ts',
      'src/control-plane/authz/rbac/policy-rules.ts',
      'src/kubelet/adapters/net/net-dial-errors.ts',
      'src/kubelet/adapters/tls/tls-settings.ts',
    ],
    plugins: { local: { rules: { 'outside-lookup': outsideLookup } } },
    rules: { 'local/outside-lookup': 'error' },
  },
  {
    // The page of the node runs in browsers. Its types are checked by its own tsconfig.json.
    files: ['src/kubelet/features/page/assets/*.js'],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always'],
      'max-lines': ['error', { max: 550, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 110, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 6],
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-restricted-globals': ['error', 'localStorage', 'sessionStorage', 'eval'],
      // Texts of the cluster must never become markup.
      'no-restricted-properties': [
        'error',
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'srcdoc', 'write', 'writeln'].map((property) => ({
          property,
          message: 'Use element() and setText().',
        })),
      ],
      'no-restricted-syntax': ['error', ...always],
      'no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-var': 'error',
      'prefer-const': 'error',
    },
  },
  {
    // Each of these files has a process of its own.
    files: ['test/**/*.ts'],
    ignores: ['test/bench/**'],
    rules: { 'no-restricted-syntax': ['error', ...everywhere] },
  },
  {
    files: ['**/*.test.ts', 'test/**/*.ts', '**/testing/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 1100, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-floating-promises': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
);

export { config as default };
