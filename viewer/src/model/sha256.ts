// SHA-256, synchronous: the browser's own is asynchronous and absent on some pages opened from disk.

const K = new Uint32Array(64);
const H0 = new Uint32Array(8);
{
  // The constants are the fractional parts of the roots of the first primes.
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const fraction = (x: number): number => Math.floor((x - Math.floor(x)) * 2 ** 32);
  primes.forEach((p, i) => {
    K[i] = fraction(Math.cbrt(p));
    if (i < 8) H0[i] = fraction(Math.sqrt(p));
  });
}

export function sha256Hex(text: string): string {
  const data = new TextEncoder().encode(text);
  const length = ((data.length + 8) >> 6) + 1;
  const words = new DataView(new ArrayBuffer(length * 64));
  new Uint8Array(words.buffer).set(data);
  words.setUint8(data.length, 0x80);
  words.setUint32(length * 64 - 8, Math.floor(data.length / 2 ** 29));
  words.setUint32(length * 64 - 4, data.length << 3);
  const hash = H0.slice();
  const w = new Uint32Array(64);
  const turn = (x: number, n: number): number => (x >>> n) | (x << (32 - n));
  for (let block = 0; block < length; block++) {
    for (let i = 0; i < 16; i++) w[i] = words.getUint32(block * 64 + i * 4);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15]!;
      const b = w[i - 2]!;
      w[i] = (w[i - 16]! + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[i - 7]! + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10))) | 0;
    }
    let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i]! + w[i]!) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => (hash[i] = (hash[i]! + value) | 0));
  }
  return [...hash].map((word) => word.toString(16).padStart(8, "0")).join("");
}
