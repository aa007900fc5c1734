package burst.invoker.driver
package sandbox

import burst.node.{RuntimeBinary, SetupException}
import java.nio.file.{Files, Path}

/** Which root packs have according to the settings; the runtime is a script. */
class SandboxRootSuite extends munit.FunSuite:
  private val directory = Files.createTempDirectory("root")
  override def afterAll(): Unit = PackageFiles.delete(directory)

  private val unpacked = directory.resolve("roots")

  private def rootOf(root: Option[Path], runtime: String = "exit 9"): Option[SandboxRoot] =
    val binary = RuntimeBinary(SandboxPrerequisites.script(directory.resolve("runtime"), runtime))
    SandboxRoot.of(SandboxPrerequisites.settings.copy(root = root.map(_.toString)), binary, unpacked)

  private def image(): Path =
    val layout = Files.createDirectories(directory.resolve("layout"))
    Files.writeString(layout.resolve("oci-layout"), "{}")
    layout

  test("an image layout, or a file that may be its tar archive, is unpacked by the runtime"):
    val labels = """{"burst.arch":"x86_64","burst.glibc":"2.36"}"""
    val answers =
      s"""[ "$$1 $$3" = "unpack $unpacked" ] && echo '{"root":"/made/of/'$$(basename $$2)'","labels":$labels}'"""
    val archive = Files.createFile(directory.resolve("image.tar"))
    for path <- Vector(image(), archive) do
      val root = rootOf(Some(path), answers)
      assertEquals(root, Some(SandboxRoot(Path.of(s"/made/of/${path.getFileName}"), Some("2.36"))))

  test("an image that cannot be a root stops the start with the runtime's message"):
    val problem = intercept[SetupException]:
      rootOf(Some(image()), "echo 'burst-runtime: it has nothing for linux/amd64'; exit 1")
    assert(
      problem.getMessage.endsWith("cannot be packs' root: it has nothing for linux/amd64."),
      problem.getMessage
    )
    assert(problem.getMessage.contains("burst.invoker.sandbox.root"), problem.getMessage)

  test("a directory is used unchanged, and previously unpacked roots are deleted"):
    for root <- Vector(None, Some(Files.createTempDirectory(directory, "plain"))) do
      Files.createDirectories(unpacked.resolve("sha256-0/usr"))
      assertEquals(rootOf(root), root.map(SandboxRoot(_, None)))
      assert(!Files.exists(unpacked))
