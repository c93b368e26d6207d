#!/usr/bin/env node
'use strict';

const { spawn } = require('node:child_process');
const { program } = require('./index.cjs');

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// With --ci the sandbox ends with this process; this process then ends with its own parent.
const parent = process.ppid;
if (process.argv.includes('--ci')) setInterval(() => process.ppid === parent || child.kill(), 200).unref();
child.on('error', (error) => { console.error(error.message); process.exitCode = 1; });
child.on('exit', (code) => { process.exitCode = code ?? 1; });
