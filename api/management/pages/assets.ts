// The files of the documentation's reader, from the installed package and from here. Read when they are first asked
// for and kept: there are as many as the table below has rows.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { readerScript } from './reader-page.ts';

export type Asset = { readonly octets: Uint8Array<ArrayBuffer>; readonly contentType: string };

const script = 'text/javascript; charset=utf-8';
const files: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': script,
  'favicon-32x32.png': 'image/png',
};
const ownFiles: Readonly<Record<string, string>> = { 'reader.js': readerScript };

const kept = new Map<string, Promise<Asset>>();

/** Null when there is no such file. */
export async function readAsset(name: string, zipped: boolean): Promise<Asset | null> {
  if (!Object.hasOwn(files, name) && !Object.hasOwn(ownFiles, name)) return null;
  const keptAs = `${name} ${zipped}`;
  let asset = kept.get(keptAs);
  if (asset === undefined) {
    asset = load(name, zipped);
    kept.set(keptAs, asset);
    // What failed is tried again the next time.
    asset.catch(() => kept.delete(keptAs));
  }
  return asset;
}

async function load(name: string, zipped: boolean): Promise<Asset> {
  const own = ownFiles[name];
  const octets = own === undefined ? await readFile(join(packageFolder(), name)) : Buffer.from(own, 'utf8');
  const contentType = files[name] ?? script;
  return { octets: new Uint8Array(zipped ? await promisify(gzip)(octets) : octets), contentType };
}

/** The package's own entry is not loaded: only its files are wanted. */
const packageFolder = () => dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
