package burst.node

import com.typesafe.config.{Config, ConfigFactory}
import java.nio.file.{Files, Path}
import munit.FunSuite

/** The file that the command `burst` writes: it contains the operator's own settings, before the flags. */
class SettingsSuite extends FunSuite:
  private val directory = FunFixture[Path](
    _ => Files.createTempDirectory("settings"),
    root =>
      Files.list(root).forEach(Files.delete(_))
      Files.delete(root)
  )

  private def load(root: Path, defaults: String, own: String, flags: String): Config =
    val file = root.resolve("own.conf")
    Files.writeString(file, own)
    val written = root.resolve("controller.conf")
    Files.writeString(
      written,
      s"""# Written by `burst controller`
         |include classpath("application")
         |$defaults
         |include required(file("$file"))
         |$flags
         |""".stripMargin
    )
    Settings.load(ConfigFactory.parseFile(written.toFile)).config

  directory.test(
    "flags override the operator's file, which overrides the command's defaults and then all others"
  ): root =>
    val default = "burst.cluster.port: 2552"
    def port(own: String, flags: String) = load(root, default, own, flags).getInt("burst.cluster.port")
    assertEquals(port("", ""), 2552)
    assertEquals(port("burst.cluster.port = 4000", ""), 4000)
    assertEquals(
      port("burst { cluster { port = 4000 } }", "\"burst\": {\"cluster\": {\"port\": 5000}}"),
      5000
    )
    assertEquals(load(root, "", "", "").getInt("burst.cluster.port"), 0)
