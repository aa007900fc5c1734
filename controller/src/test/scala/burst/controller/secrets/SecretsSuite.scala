package burst.controller.secrets

import burst.controller.definition.{SealedEnvironment, SealedSecret, VariableChanges}
import burst.node.SetupException
import burst.protocol.Environment
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.util.Base64

/** Sealing secrets, opening them, and the key's file. */
class SecretsSuite extends munit.FunSuite:
  private val hello = DefinitionName("guest", "hello")
  private val key = SecretsKey.random()
  private val directory = FunFixture[Path](
    _ => Files.createTempDirectory("burst-key"),
    path => Files.walk(path).sorted(java.util.Comparator.reverseOrder).forEach(Files.delete(_))
  )

  private def sealedEnvironment(secrets: SealedSecret*) = SealedEnvironment(Map("A" -> "1"), secrets.toVector)

  test("only the same key opens a secret, and only under the same name of the same definition"):
    for value <- Seq("", "hunter2", "é\n😀", "x" * 10_000) do
      val secret = key.seal(hello, "TOKEN", value)
      assertEquals(key.open(hello, secret), Some(value))
      assertEquals(SecretsKey.size(secret), value.getBytes("UTF-8").length)
      assertEquals(key.open(hello.copy(namespace = "other"), secret), None)
      assertEquals(key.open(hello.copy(name = "bye"), secret), None)
      assertEquals(key.open(hello, secret.copy(name = "OTHER")), None)
      assertEquals(SecretsKey.random().open(hello, secret), None)

  test("a changed or malformed secret is not opened"):
    val secret = key.seal(hello, "TOKEN", "hunter2")
    val bytes = Base64.getDecoder.decode(secret.text)
    for index <- bytes.indices do
      val changed = bytes.updated(index, (bytes(index) ^ 1).toByte)
      assertEquals(key.open(hello, secret.copy(text = Base64.getEncoder.encodeToString(changed))), None)
    for text <- Seq("", "?", "AAAA", secret.text.take(20)) do
      assertEquals(key.open(hello, secret.copy(text = text)), None, text)

  test("the same value is sealed differently each time, and no text shows it or the key"):
    val secrets = Vector.fill(3)(key.seal(hello, "TOKEN", "hunter2"))
    assertEquals(secrets.map(_.text).distinct.size, 3)
    assertEquals(secrets.map(_.toString).distinct, Vector("SealedSecret(TOKEN)"))
    assertEquals(key.toString, s"SecretsKey(${key.id})")
    assertEquals(Environment(Map("TOKEN" -> "hunter2")).toString, "Environment(TOKEN)")

  test("a program gets variables and secrets, and a secret overrides a variable of its name"):
    val secrets = Secrets(Some(key))
    val Some(Vector(token, a)) = secrets.seal(hello, Map("TOKEN" -> "hunter2", "A" -> "2")): @unchecked
    assertEquals(
      secrets.open(hello, sealedEnvironment(token)),
      Right(Environment(Map("A" -> "1", "TOKEN" -> "hunter2")))
    )
    assertEquals(secrets.open(hello, sealedEnvironment(a)), Right(Environment(Map("A" -> "2"))))

  test("a secret that cannot be opened is reported with the reason"):
    val secret = key.seal(hello, "TOKEN", "hunter2")
    val other = SecretsKey.random()
    def told(by: Option[SecretsKey], secret: SealedSecret) =
      Secrets(by).open(hello, sealedEnvironment(secret)).left.map(_.message).swap.getOrElse(fail("opened"))
    assert(told(None, secret).contains("the secret TOKEN cannot be opened: the controller has no key"))
    val wrong = told(Some(other), secret)
    assert(wrong.contains(key.id) && wrong.contains(other.id), wrong)
    assert(told(Some(key), secret.copy(name = "OTHER")).contains("has been changed"))

  test("without a key nothing is sealed, and definitions without secrets need none"):
    assertEquals(Secrets(None).seal(hello, Map("TOKEN" -> "hunter2")), None)
    assertEquals(Secrets(None).seal(hello, Map.empty), Some(Vector.empty))
    assertEquals(Secrets(None).open(hello, sealedEnvironment()), Right(Environment(Map("A" -> "1"))))

  test("a name is a variable or a secret, whichever was set last"):
    def secret(name: String) = SealedSecret(name, "k", "")
    val there = SealedEnvironment(Map("A" -> "1", "B" -> "1"), Vector(secret("C"), secret("D")))
    assertEquals(VariableChanges().over(there), there)
    assertEquals(VariableChanges(Some(Map.empty)).over(there), there.copy(variables = Map.empty))
    assertEquals(
      VariableChanges(secrets = Vector(secret("B")), removed = Set("C", "X")).over(there),
      SealedEnvironment(Map("A" -> "1"), Vector(secret("B"), secret("D")))
    )
    assertEquals(
      VariableChanges(Some(Map("C" -> "2"))).over(there),
      SealedEnvironment(Map("C" -> "2"), Vector(secret("D")))
    )

  directory.test("a key's file can be read again, by its owner only"): directory =>
    val file = directory.resolve("secrets.key")
    assertEquals(SecretsKey.read(file), None)
    val made = SecretsKey.create(file).getOrElse(fail("a key already exists"))
    assert(SecretsKey.create(file).isEmpty, "the key is not replaced")
    assertEquals(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)), "rw-------")
    val secret = made.seal(hello, "TOKEN", "hunter2")
    assertEquals(SecretsKey.read(file).flatMap(_.open(hello, secret)), Some("hunter2"))
    assertEquals(SecretsKey.read(file).map(_.id), Some(made.id))
    assertEquals(Files.list(directory).count(), 1L)
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"))
    assert(intercept[SetupException](SecretsKey.read(file)).getMessage.contains("chmod 600"))

  directory.test("an invalid key is refused, and not shown"): directory =>
    val file = directory.resolve("secrets.key")
    SecretsKey.create(file)
    for text <- Seq("", "hunter2", Base64.getEncoder.encodeToString(new Array[Byte](31))) do
      Files.writeString(file, text)
      val told = intercept[SetupException](SecretsKey.read(file)).getMessage
      assert(told.contains("32 bytes in base64") && !told.contains("hunter2"), told)

  directory.test("a path that is no readable file is reported, without blocking"): directory =>
    def told(file: Path) = intercept[SetupException](SecretsKey.read(file)).getMessage
    val pipe = directory.resolve("pipe")
    assertEquals(ProcessBuilder("mkfifo", "-m", "600", pipe.toString).start().waitFor(), 0)
    assert(told(pipe).contains("no regular file"))
    assert(told(directory).contains("no regular file"))
    val link = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("nowhere"))
    assert(told(link).contains("link to a file that is not there"))
    val below = Files.writeString(directory.resolve("file"), "").resolve("secrets.key")
    assert(told(below).contains(s"$below, cannot be read: "))
    val made = intercept[SetupException](SecretsKey.create(below)).getMessage
    assert(made.contains(s"$below, cannot be made: "), made)

  directory.test("the key's directory is created with it"): directory =>
    val file = directory.resolve("a/b/secrets.key")
    assert(SecretsKey.create(file).isDefined)
    assert(SecretsKey.read(file).isDefined)
