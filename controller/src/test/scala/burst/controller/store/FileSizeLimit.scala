package burst.controller.store

import java.util.concurrent.TimeUnit

/** Limits the size of this process's files for a while: writes beyond it fail as on a full disk, for any
  * user.
  */
object FileSizeLimit:
  def during[A](bytes: Long)(work: => A): A =
    set(bytes.toString)
    try work
    finally set("unlimited")

  private def set(soft: String): Unit =
    val process = ProcessBuilder("prlimit", "--pid", s"${ProcessHandle.current.pid}", s"--fsize=$soft:")
      .redirectErrorStream(true)
      .start()
    val said = String(process.getInputStream.readAllBytes())
    if !process.waitFor(10, TimeUnit.SECONDS) || process.exitValue != 0 then
      throw IllegalStateException(s"prlimit (of util-linux) failed: $said")
