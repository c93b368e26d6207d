// The types of merchant.mjs.

/** What JSON without loss is made of: integers are bigint, other numbers keep their text. */
export type Json = null | boolean | string | bigint | JsonNumber | Json[] | JsonObject;
export type JsonObject = { [name: string]: Json };
/** What may be written as JSON; a number has to be a safe integer. */
export type Writable = null | boolean | string | bigint | number | JsonNumber | Writable[] | { [name: string]: Writable | undefined };
/** An id: as a number only where it is a safe integer. */
export type Id = bigint | number | string;
/** The headers of node:http, or of fetch. */
export type HeaderFields = { get(name: string): string | null } | { [name: string]: string | string[] | undefined };
export type Bytes = string | Uint8Array;
export type Family = 'EVM' | 'TVM';

export const VERSION: string;
export const CLOCK_WINDOW_SECONDS: number;
export const SIGNER_AHEAD_SECONDS: number;
export const MOST_ENTRIES: number;
export const MOST_BYTES: number;

export interface Todo {
  again: boolean;
  who: 'customer' | 'merchant' | 'operator' | 'nobody';
  what: string;
}
export const RETRY: Readonly<{ [retry: string]: Todo }>;
export const whatToDo: (failure: { retry?: unknown }) => Todo;

export function sign(secret: string, request: { timestamp: string; method: string; pathAndQuery: string; body?: Bytes }): string;
export class NotVerified extends Error {}
export function verifyCallback(callback: {
  headers: HeaderFields;
  pathAndQuery: string;
  body?: Bytes;
  credentials: { [key: string]: string | string[] };
  method?: string;
  now?: number;
}): JsonObject;
export function eventKey(event: JsonObject, body: Bytes): string;
export function verifyAnswer(answer: { secret: string; requestSign: string; status: number; headers: HeaderFields; body: Bytes; now?: number }): void;

export class JsonNumber {
  constructor(text: string);
  readonly text: string;
  toString(): string;
  toJSON(): string;
}
export function parse(text: string): Json;
export function stringify(value: Writable): string;

/** A call without the answer that it wants. */
export class CallError extends Error {
  constructor(message: string, more?: { status?: number; code?: bigint; msg?: string; retryAfter?: number; maxBatch?: number; cause?: unknown });
  status?: number;
  code?: bigint;
  msg?: string;
  retryAfter?: number;
  maxBatch?: number;
}
export class NotProven extends CallError {}
export class NotKnown extends CallError {}
export class Conflict extends CallError {
  withdrawId?: Json;
}

export interface Peer {
  url: string;
  key: string;
  secret: string;
  /** Milliseconds. */
  timeout?: number;
  tries?: number;
  /** Seconds. */
  pause?: number;
  /** Unix seconds. */
  clock?: () => number;
}

export interface Link {
  url: string;
  expiration: Json;
  subscriptionId: Json;
  answer: JsonObject;
}

export class Platform {
  constructor(peer: Peer & { paymentUrl?: string; notFoundCodes?: Id[] });
  createLink(link: { chainId: Id; planId: Id; externalUserId: string; redirectionUrl: string; notifyUrl: string }): Promise<Link>;
  createCancelLink(link: { outTradeNo: string; redirectionUrl: string; notifyUrl: string }): Promise<Link>;
  chains(): Promise<JsonObject[]>;
  currencies(chainId: Id): Promise<JsonObject[]>;
  createUser(uuid: string): Promise<Json>;
  user(uuid: string): Promise<JsonObject | null>;
  recharge(rechargeId: Id): Promise<JsonObject | null>;
  withdrawal(name: { withdrawId: Id } | { outTradeNo: string }): Promise<JsonObject | null>;
  withdraw(payment: {
    chainId: Id;
    currencyId: Id;
    withdrawAddress: string;
    /** A decimal in text. */
    withdrawAmount: string;
    outTradeNo: string;
    notifyUrl?: string;
  }): Promise<{ withdrawId: Json; found: boolean }>;
  subscriptions(pages?: { size?: number }): Promise<JsonObject[]>;
  chargeable(pages?: { size?: number }): Promise<JsonObject[]>;
}

export interface Billed {
  sent: { txHash: Json; subscriptionIds: Json[]; address?: Json; state?: Json }[];
  failed: (JsonObject & { todo: Todo })[];
  open: { entry: JsonObject; why: string }[];
}

export class Signer {
  constructor(peer: Peer & { mostEntries?: number; mostBytes?: number });
  bill(entries: { [name: string]: Writable }[], how: { families: { [chainId: string]: Family }; dryRun?: boolean }): Promise<Billed>;
  status(id: string): Promise<JsonObject[]>;
  charges(asked?: { [name: string]: string | Id | undefined }): Promise<JsonObject>;
  control(): Promise<JsonObject[]>;
  pause(which?: { chainId?: Id; why?: string }): Promise<JsonObject[]>;
  resume(pauses: { [chainId: string]: Id }): Promise<JsonObject[]>;
}
