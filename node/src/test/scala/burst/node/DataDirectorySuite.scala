package burst.node

import java.lang.ref.WeakReference
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import munit.FunSuite

class DataDirectorySuite extends FunSuite:
  /** Opens this directory in another process; returns its exit code and its output. */
  private def openElsewhere(path: Path): (Int, String) =
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val classes = System.getProperty("java.class.path")
    val process = ProcessBuilder(java, "-cp", classes, "burst.node.OpensDataDirectory", path.toString)
      .redirectErrorStream(true)
      .start()
    val output = String(process.getInputStream.readAllBytes())
    assert(process.waitFor(60, TimeUnit.SECONDS))
    (process.exitValue, output.trim)

  private def collectGarbage(): Unit =
    val collected = WeakReference(Object())
    while collected.get != null do System.gc()

  test("a directory is held until closed, even if nothing refers to it any more"):
    val path = Files.createTempDirectory("burst-data")
    DataDirectory.open(path): Unit
    collectGarbage()
    // A separate thread closes what a collection found.
    collectGarbage()
    val (code, output) = openElsewhere(path)
    assertEquals(code, 1, output)
    assert(output.contains(s"is used by another platform (process ${ProcessHandle.current.pid})"), output)

  test("opening a directory again, even in the same process, fails and leaves it held"):
    val path = Files.createTempDirectory("burst-data")
    val directory = DataDirectory.open(path)
    val message = intercept[SetupException](DataDirectory.open(path)).getMessage
    assert(message.contains("is used by another platform"), message)
    assertEquals(openElsewhere(path)._1, 1)
    directory.close()
    assertEquals(openElsewhere(path), (0, ""))
    DataDirectory.open(path).close()

  test("the platform's files are private even in a directory that others can read"):
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
