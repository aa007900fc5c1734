package burst.invoker

import burst.invoker.driver.DriverSettings
import burst.invoker.driver.docker.{DockerKind, DockerSettings}
import burst.invoker.driver.kubernetes.{KubernetesKind, KubernetesSettings}
import burst.invoker.driver.process.ProcessKind
import burst.invoker.driver.sandbox.{SandboxKind, SandboxSettings}
import burst.invoker.metrics.MetricsAddress
import burst.invoker.pool.PoolLimits
import burst.node.SetupException
import burst.protocol.RuntimeInfo
import com.typesafe.config.ConfigFactory
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

class InvokerConfigSuite extends munit.FunSuite:
  private val bin = Files.createTempDirectory("bin")
  private val binary = Files.createFile(
    bin.resolve("burst-runtime"),
    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x"))
  )

  private def read(settings: String = "", path: Path = bin): InvokerConfig =
    InvokerConfig.read(
      ConfigFactory.parseString(settings).withFallback(ConfigFactory.load()),
      Some(s"/none:$path")
    )

  private def docker(config: InvokerConfig) = DockerSettings.read(DriverSettings(config.settings, "docker"))
  private def kubernetes(config: InvokerConfig) =
    KubernetesSettings.read(DriverSettings(config.settings, "kubernetes"))

  private def refused(settings: String, path: Path = bin): String =
    intercept[SetupException](read(settings, path)).getMessage

  test("the defaults are complete"):
    val config = read()
    assertEquals(config.driver, "auto")
    assertEquals(config.slots, Runtime.getRuntime.availableProcessors)
    assertEquals(config.memoryLimit, None)
    assertEquals(config.runtimeBinary, binary)
    assertEquals(docker(config).host, None)
    assertEquals((kubernetes(config).namespace, kubernetes(config).runtime), (None, None))

  test("an invoker without an id gets its own, which stays the same across starts"):
    def id(data: Path) = read(s"burst { data = \"$data\", invoker.id = \"\" }").id.value
    val (one, two) = (Files.createTempDirectory("one"), Files.createTempDirectory("two"))
    assertEquals(id(one), id(one))
    assertNotEquals(id(one), id(two))
    assert(id(one).matches("[A-Za-z0-9-]+-[0-9a-f]{6}"), id(one))
    assert(refused("burst.invoker.id = \"a/b\"").contains("burst.invoker.id"))

  test("metrics are served only if a host is set"):
    assertEquals(read().metrics, None)
    val set = read("burst.invoker.metrics.host = 10.0.0.7")
    assertEquals(set.metrics, Some(MetricsAddress("10.0.0.7", 3234)))

  test("settings are applied"):
    val config = read("""burst.invoker { slots = 7, memory-limit = 2048, idle-timeout = "60000ms",
                         docker.mounts = ["/a:/b:ro"] }""")
    assertEquals((config.slots, config.memoryLimit), (7, Some(2048L)))
    assertEquals(config.pool.idle.toSeconds, 60L)
    assertEquals(docker(config).mounts.map(_.target), Vector("/b"))

  test("a driver's invalid settings are reported by name"):
    def message(settings: String) = intercept[SetupException](docker(read(settings))).getMessage
    assertEquals(
      message("burst.invoker.docker.host = \"run/docker sock\""),
      "burst.invoker.docker.host: 'run/docker sock' is no address of a daemon: give unix:///run/docker.sock or " +
        "tcp://HOST:PORT."
    )
    assertEquals(
      message("burst.invoker.docker.parallelism = 0"),
      "burst.invoker.docker.parallelism is 0: give at least 1."
    )

  test("packs that share the machine's address are reached at its node's, unless one is configured"):
    val plain = read("burst.cluster.host = 10.0.0.9")
    assertEquals(plain.reached(sharesAddress = true).advertise, Some("10.0.0.9"))
    assertEquals(plain.reached(sharesAddress = false).advertise, None)
    val configured = read("burst { cluster.host = 10.0.0.9, invoker.advertise = 192.0.2.1 }")
    Vector(true, false).foreach(where => assertEquals(configured.reached(where).advertise, Some("192.0.2.1")))
    assertEquals((ProcessKind.sharesAddress, SandboxKind.sharesAddress), (true, true))
    assertEquals((DockerKind.sharesAddress, KubernetesKind.sharesAddress), (false, false))

  test("the number of warm packs on other machines does not depend on this machine's memory"):
    assertEquals(read("burst.invoker.driver = kubernetes").pool.packs, PoolLimits.packs("auto", None))
    val local = Vector("auto", "process", "sandbox", "docker").map(it => read(s"burst.invoker.driver = $it"))
    assertEquals(local.map(_.pool.packs).distinct, Vector(read().pool.packs))
    assert(ProcessKind.isLocal && !KubernetesKind.isLocal)

  test("an image's architecture and glibc must be given together"):
    val both =
      kubernetes(read("burst.invoker.kubernetes { namespace = packs, arch = aarch64, glibc = 2.36 }"))
    assertEquals((both.namespace, both.runtime), (Some("packs"), Some(RuntimeInfo("aarch64", "2.36"))))
    val one = read("burst.invoker.kubernetes.arch = aarch64")
    assert(intercept[SetupException](kubernetes(one)).getMessage.contains("give both"))

  test("invalid settings are refused with an explanation"):
    assert(refused("burst.invoker.slots = -1").contains("positive"))
    val mounts = read("""burst.invoker.docker.mounts = ["a"]""")
    assert(
      intercept[SetupException](docker(mounts)).getMessage.startsWith("burst.invoker.docker.mounts: 'a'")
    )
    val missing = read("""burst.invoker.sandbox.mounts = ["/none/such:/data:ro"]""")
    assertEquals(
      intercept[SetupException](SandboxSettings.read(DriverSettings(missing.settings, "sandbox"))).getMessage,
      "burst.invoker.sandbox.mounts: /none/such is no directory that this user sees."
    )
    assert(refused("", Files.createTempDirectory("empty")).contains("make build"))
    assert(refused("burst.invoker.runtime-binary = /nowhere/burst-runtime").contains("runtime-binary"))

  test("an unknown driver and an invalid runtime are refused"):
    val home = Files.createTempDirectory("invoker")
    val own = s"burst.invoker.directory = $home"
    val other = read(s"$own\nburst.invoker.driver = jail")
    assertEquals(
      intercept[SetupException](Wiring.prepare(other)).getMessage,
      "burst.invoker.driver is 'jail': give \"auto\", \"process\", \"sandbox\", \"docker\" or \"kubernetes\"."
    )
    Files.writeString(binary, "#!/bin/sh\necho hello\n")
    // The script supports neither a check for sandboxes nor a description of the platform.
    assert(intercept[SetupException](Wiring.prepare(read(own))).getMessage.contains("another form"))

  test("packs run as processes where sandboxes are impossible, unless directories are to be mounted"):
    Files.writeString(
      binary,
      """#!/bin/sh
        |case "$1" in
        |sandbox) echo '{"possible":false,"reason":"the kernel will not"}' ;;
        |describe) echo '{"arch":"x86_64","glibc":"2.36","backends":["direct"]}' ;;
        |esac
        |""".stripMargin
    )
    def prepared(mount: String) =
      val home = Files.createTempDirectory("invoker")
      Wiring.prepare(
        read(s"""burst.invoker { directory = "$home", sandbox.mounts = ["$mount"] }""")
      )
    val packs = prepared("/usr:/usr:ro").packs
    assert(packs.startsWith("packs are run by the driver process, without isolation"), packs)
    assert(packs.endsWith("They cannot be isolated here: the kernel will not"), packs)
    val refused = intercept[SetupException](prepared("/usr:/data:ro")).getMessage
    assert(refused.contains("/usr") && refused.contains("the kernel will not"), refused)
