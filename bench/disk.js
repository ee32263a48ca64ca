// A new file on the disk that the repository is on: folders for what is passing are often in memory, where fsync costs nothing.
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const build = fileURLToPath(new URL('../build/', import.meta.url))

/** What one client writes. */
export const RECORD = Buffer.alloc(50_000, 'proco')

/** Calls `use(handle)` with a file open for appending, which is deleted after that. */
export async function withFile(use) {
  await mkdir(build, { recursive: true })
  const folder = await mkdtemp(`${build}disk-`)
  try {
    const handle = await open(`${folder}/records`, 'a')
    try {
      return await use(handle)
    } finally {
      await handle.close()
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Writes all, each to its last byte: a call of the system may write less. */
export async function append(handle, records) {
  const wanted = records.reduce((sum, { length }) => sum + length, 0)
  const { bytesWritten } = await handle.writev(records)
  if (bytesWritten < wanted) await handle.appendFile(Buffer.concat(records).subarray(bytesWritten))
}
