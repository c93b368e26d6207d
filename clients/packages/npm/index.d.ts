export interface Caller { key: string; secret: string }

/** The addresses and secrets of a sandbox. */
export interface Sandbox {
  baseUrl: string;
  paymentUrl: string;
  adminUrl: string;
  api: Caller;
  signerUrl: string;
  scheduler: Caller;
  operator: Caller;
  clock: string;
  /** By the platform's chain id. */
  families: { [chainId: string]: 'EVM' | 'TVM' };
  evm: string;
  tronFull: string;
  tronSolidity: string;
  tronJsonrpc: string;
  signerConfig: string;
}

export interface Options {
  /** Another number gives other subscription and order numbers. */
  seed?: number;
  /** The first date, such as 2096-01-31. */
  at?: string;
  /** Subscribers on each chain that are due from the first link on. */
  subscribers?: number;
  /** Milliseconds between blocks. */
  beat?: number;
}

export interface Running extends Sandbox {
  /** Steers the sandbox: `control('advance', { months: 1 })`. */
  control(name: string, body?: object): Promise<any>;
  stop(): Promise<void>;
}

/** The path of the program. */
export function program(): string;
/** Starts a sandbox on free ports. */
export function start(options?: Options): Promise<Running>;
