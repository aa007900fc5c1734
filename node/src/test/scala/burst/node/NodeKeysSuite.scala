package burst.node

import com.typesafe.config.ConfigFactory
import java.io.FileInputStream
import java.nio.file.{Files, Path}
import java.security.KeyStore
import java.util.Base64
import java.util.concurrent.TimeUnit
import munit.FunSuite
import scala.concurrent.duration.DurationInt
import scala.util.Using

class NodeKeysSuite extends FunSuite:
  /** Four keys are made, each by its own JVM. */
  override val munitTimeout = 4.minutes

  private val password = "test-password"
  private lazy val directory = Files.createTempDirectory("burst-node-keys")

  /** An authority `own` that has signed `node` and `curve`, and another authority `other`. */
  private lazy val store: KeyStore =
    val file = directory.resolve("keys.p12")
    def make(alias: String, more: String*): Unit =
      val keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString
      val command =
        Seq(keytool, "-genkeypair", "-keystore", s"$file", "-storetype", "PKCS12", "-storepass") ++
          Seq(password, "-alias", alias, "-dname", s"CN=$alias") ++ more
      val process = ProcessBuilder(command*).inheritIO().start()
      assert(process.waitFor(60, TimeUnit.SECONDS) && process.exitValue == 0, "keytool failed")
    make("own", "-keyalg", "EC", "-ext", "bc:c")
    make("other", "-keyalg", "EC", "-ext", "bc:c")
    make("node", "-keyalg", "RSA", "-signer", "own")
    make("curve", "-keyalg", "EC", "-signer", "own")
    val read = KeyStore.getInstance("PKCS12")
    Using.resource(FileInputStream(file.toFile))(read.load(_, password.toCharArray))
    read

  private def certificate(alias: String) = pem(alias, "CERTIFICATE", store.getCertificate(alias).getEncoded)
  private def key(alias: String) =
    pem(alias, "PRIVATE KEY", store.getKey(alias, password.toCharArray).getEncoded)

  private def pem(alias: String, kind: String, bytes: Array[Byte]): Path =
    val text = Base64.getMimeEncoder(64, "\n".getBytes).encodeToString(bytes)
    val file = directory.resolve(s"$alias-${kind.replace(' ', '-')}.pem")
    Files.writeString(file, s"-----BEGIN $kind-----\n$text\n-----END $kind-----\n")

  private def keys(files: (String, Any)*) =
    val text = files.map((name, file) => s"$name = \"$file\"").mkString("\n")
    NodeKeys.from(
      ConfigFactory.parseString(text).withFallback(ConfigFactory.load().getConfig("burst.cluster.tls"))
    )

  test("TLS is on if all files are given, and off without any"):
    assertEquals(keys(), None)
    val files =
      Seq("key" -> key("node"), "certificate" -> certificate("node"), "authority" -> certificate("own"))
    assertEquals(keys(files*), Some(NodeKeys(key("node"), certificate("node"), certificate("own"))))

  test("files that do not fit together are reported by their setting before any connection"):
    def refusal(key: Any, certificate: Any, authority: Any): String =
      intercept[SetupException](
        keys("key" -> key, "certificate" -> certificate, "authority" -> authority)
      ).getMessage
    val (own, node) = (certificate("own"), certificate("node"))
    Seq(
      refusal("", node, own) -> "tls.key is missing",
      refusal(key("node"), node, "/nowhere") -> "tls.authority: /nowhere cannot be read",
      refusal(key("curve"), certificate("curve"), own) -> "is not an RSA key in PEM",
      refusal(node, node, own) -> "tls.key",
      refusal(key("node"), key("node"), own) -> "tls.certificate",
      refusal(key("node"), certificate("curve"), own) -> "is not the key of the certificate",
      refusal(key("node"), node, certificate("other")) -> "has not signed the certificate"
    ).foreach((message, expected) => assert(message.contains(expected), message))
