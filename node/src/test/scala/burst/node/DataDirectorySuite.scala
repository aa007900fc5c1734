package burst.node

import java.lang.ref.WeakReference
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import munit.FunSuite

class DataDirectorySuite extends FunSuite:
  /** What another process says that opens this directory, and how it ends. */
  private def opensElsewhere(path: Path): (Int, String) =
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val classes = System.getProperty("java.class.path")
    val process = ProcessBuilder(java, "-cp", classes, "burst.node.OpensDataDirectory", path.toString)
      .redirectErrorStream(true)
      .start()
    val said = String(process.getInputStream.readAllBytes())
    assert(process.waitFor(60, TimeUnit.SECONDS))
    (process.exitValue, said.trim)

  private def collectGarbage(): Unit =
    val gone = WeakReference(Object())
    while gone.get != null do System.gc()

  test("a directory is held until closed, also when nobody refers to it any more"):
    val path = Files.createTempDirectory("burst-data")
    DataDirectory.open(path): Unit
    collectGarbage()
    // What a collection found is closed by a thread of its own.
    collectGarbage()
    val (code, said) = opensElsewhere(path)
    assertEquals(code, 1, said)
    assert(said.contains(s"is used by another platform (process ${ProcessHandle.current.pid})"), said)

  test("asking again, even from within, takes it from nobody"):
    val path = Files.createTempDirectory("burst-data")
    val directory = DataDirectory.open(path)
    val told = intercept[SetupException](DataDirectory.open(path)).getMessage
    assert(told.contains("is used by another platform"), told)
    assertEquals(opensElsewhere(path)._1, 1)
    directory.close()
    assertEquals(opensElsewhere(path), (0, ""))
    DataDirectory.open(path).close()

  test("in a directory that others may read, what the platform makes is its owner's alone"):
    val path = Files.createTempDirectory("burst-data")
    def permissions(path: Path) = PosixFilePermissions.toString(Files.getPosixFilePermissions(path))
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"))
    val directory = DataDirectory.open(path)
    for made <- Seq(directory.logs, directory.temporary, PrivateFile.directory(path.resolve("a/b")).getParent)
    do
      assertEquals(permissions(made), "rwx------")
    assertEquals(permissions(path), "rwxr-xr-x")
    directory.close()

object OpensDataDirectory:
  def main(arguments: Array[String]): Unit =
    try DataDirectory.open(Path.of(arguments.head)): Unit
    catch
      case refused: SetupException =>
        println(refused.getMessage)
        System.exit(1)
