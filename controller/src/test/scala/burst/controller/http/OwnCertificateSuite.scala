package burst.controller.http

import burst.node.{DataDirectory, SetupException}
import com.typesafe.config.{Config, ConfigFactory}
import java.io.ByteArrayInputStream
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.security.cert.{CertificateFactory, X509Certificate}
import scala.jdk.CollectionConverters.*

class OwnCertificateSuite extends munit.FunSuite:
  private val data = FunFixture[DataDirectory](
    _ => DataDirectory.open(Files.createTempDirectory("burst-own")),
    _.close()
  )

  private def settings(host: String, own: Boolean = true): Config =
    ConfigFactory
      .parseString(s"""burst.http { host = "$host", tls.own = $own }""")
      .withFallback(ConfigFactory.load())

  private def certificate(file: Path): X509Certificate =
    CertificateFactory
      .getInstance("X.509")
      .generateCertificate(ByteArrayInputStream(Files.readAllBytes(file))) match
      case found: X509Certificate => found

  data.test("no certificate is made unless it is wanted"): data =>
    val config = settings("127.0.0.1", own = false)
    assertEquals(OwnCertificate.in(config, data), config)
    assert(!Files.exists(OwnCertificate.file(data)))

  data.test("a certificate that the API can use is made and kept"): data =>
    val config = OwnCertificate.in(settings("127.0.0.1"), data)
    val file = OwnCertificate.file(data)
    assertEquals(config.getString("burst.http.tls.certificate"), file.toString)
    assert(Tls.from(config.getConfig("burst.http.tls")).isDefined)
    val made = certificate(file)
    made.verify(made.getPublicKey)
    val names = made.getSubjectAlternativeNames.asScala.map(_.get(1).toString).toSet
    assert(Set("localhost", "127.0.0.1").subsetOf(names), names)
    val key = Path.of(config.getString("burst.http.tls.key"))
    assertEquals(PosixFilePermissions.toString(Files.getPosixFilePermissions(key)), "rw-------")
    OwnCertificate.in(settings("127.0.0.1"), data)
    assertEquals(certificate(file), made)

  data.test("a certificate that does not name the host, or is invalid, is replaced"): data =>
    val file = OwnCertificate.file(data)
    OwnCertificate.in(settings("0.0.0.0"), data)
    val first = certificate(file)
    OwnCertificate.in(settings("burst.example.org"), data)
    val second = certificate(file)
    assert(first != second)
    assert(second.getSubjectAlternativeNames.asScala.map(_.get(1)).toSeq.contains("burst.example.org"))
    Files.writeString(file, "nothing")
    val config = OwnCertificate.in(settings("burst.example.org"), data)
    assert(Tls.from(config.getConfig("burst.http.tls")).isDefined)

  data.test("asking for an own certificate beside another one is refused"): data =>
    val both = ConfigFactory
      .parseString("burst.http.tls.keystore = /some/file")
      .withFallback(settings("127.0.0.1"))
    intercept[SetupException]:
      Tls.from(OwnCertificate.in(both, data).getConfig("burst.http.tls"))
