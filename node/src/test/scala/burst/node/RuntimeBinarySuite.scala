package burst.node

import burst.protocol.{BackendConfig, FailureKind, FlareId, RuntimeInfo}
import java.io.IOException
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.DurationInt

class RuntimeBinarySuite extends munit.FunSuite:
  private val directory = Files.createTempDirectory("runtime")

  private def script(text: String): Path =
    val file = Files.createTempFile(directory, "runtime", ".sh")
    Files.writeString(file, s"#!/bin/sh\n$text\n")
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"))

  private val backend = BackendConfig("redis-list", Some("redis://:password@host"), None)
  private val flare = FlareId.random()

  test("a runtime reports what packages must be built for"):
    val binary =
      script(
        """[ "$1" = describe ] && echo '{"arch":"x86_64","glibc":"2.36","version":"0.1.0","backends":["direct"]}'"""
      )
    assertEquals(RuntimeBinary(binary).describe(), RuntimeInfo("x86_64", "2.36"))
    assertEquals(RuntimeBinary(binary).backends(), Vector("direct"))

  test("a runtime reports a backend's servers, and receives the backend on its standard input"):
    val binary = script(
      """[ "$*" = servers ] && grep -q redis://:password@host && echo '[{"host":"host","port":6379}]'"""
    )
    assertEquals(RuntimeBinary(binary).servers(backend), Vector(ServerAddress("host", 6379)))
    intercept[IOException](RuntimeBinary(script("cat > /dev/null; exit 4")).servers(backend))

  test("a library's messages around an answer are ignored"):
    val answer = """{"possible":false,"reason":"it is forbidden"}"""
    val binary = script(s"echo 'library: EPERM' >&2; echo '$answer'; echo 'library: again' >&2")
    assertEquals(RuntimeBinary(binary).sandboxing(), Sandboxing.Impossible("it is forbidden"))

  test("a server with a name must be looked up"):
    assertEquals(
      Vector("host", "10.0.0.5", "::1").map(ServerAddress(_, 1).isNamed),
      Vector(true, false, false)
    )

  for (name, text) <- List("fails" -> "exit 4", "answers otherwise" -> "echo hello") do
    test(s"a runtime that $name is a set-up problem"):
      val problem = intercept[SetupException](RuntimeBinary(script(text)).describe())
      assert(problem.getMessage.contains("runtime-binary"), problem.getMessage)

  test("a missing runtime is a set-up problem"):
    intercept[SetupException](RuntimeBinary(directory.resolve("none")).describe())

  private def sentence(outcome: Either[RuntimeProblem, Any]): String =
    outcome.swap.fold(done => fail(done.toString), _.sentence)

  test("a failed command is reported with its exit code and its last words"):
    def removed(text: String) = sentence(RuntimeBinary(script(text)).removeSandboxes("burst-"))
    assertEquals(removed("echo first; echo in use; exit 3"), "it ended with code 3 in use")
    assertEquals(removed("exit 3"), "it ended with code 3")
    assertEquals(removed("echo hello"), "it answers in another form")
    val none = sentence(RuntimeBinary(directory.resolve("none")).removeSandboxes("burst-"))
    assert(none.startsWith("it cannot be run: "), none)

    val full = script("echo no space; exit 1")
    assertEquals(
      sentence(RuntimeBinary(full).layOut(directory)),
      s"'$full lay-out' ended with code 1 no space"
    )

  test("an image that cannot be unpacked is reported in the runtime's words alone"):
    def unpacked(text: String) =
      sentence(RuntimeBinary(script(text)).unpack(directory, directory, 5.seconds))
    assertEquals(unpacked("echo burst-runtime: it is empty; exit 1"), "it is empty")
    assertEquals(
      sentence(RuntimeBinary(script("exec sleep 600")).unpack(directory, directory, 200.millis)),
      "it did not end within 200 milliseconds"
    )

  test("clean-up reads what to clean from standard input, never from its arguments"):
    val seen = directory.resolve("seen")
    val binary = script(s"""echo "$$@" > $seen.arguments; cat > $seen""")
    RuntimeBinary(binary).cleanup(flare, backend, 10.seconds).map: outcome =>
      assertEquals(outcome, None)
      assertEquals(Files.readString(Path.of(s"$seen.arguments")).trim, "cleanup")
      val input = io.circe.jawn.parse(Files.readString(seen)).toOption.map(_.hcursor)
      assertEquals(input.flatMap(_.get[String]("flareId").toOption), Some(flare.value))
      assertEquals(input.flatMap(_.downField("backend").as[BackendConfig].toOption), Some(backend))

  test("a failed clean-up reports the reason"):
    RuntimeBinary(script("cat > /dev/null; echo no such host >&2; exit 1")).cleanup(
      flare,
      backend,
      10.seconds
    ).map: outcome =>
      assertEquals(outcome.map(_.kind), Some(FailureKind.Backend))
      assert(outcome.exists(_.message.contains("no such host")), outcome.toString)

  test("a clean-up that hangs is ended at its deadline"):
    RuntimeBinary(script("exec sleep 600")).cleanup(flare, backend, 200.millis).map: outcome =>
      assert(outcome.exists(_.message.contains("did not end")), outcome.toString)
