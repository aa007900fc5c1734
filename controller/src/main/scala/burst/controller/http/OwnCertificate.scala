package burst.controller.http

import burst.node.{DataDirectory, PrivateFile, SetupException}
import com.typesafe.config.{Config, ConfigValueFactory}
import java.io.{IOException, StringWriter}
import java.math.BigInteger
import java.net.InetAddress
import java.nio.file.{Files, Path, StandardCopyOption}
import java.security.cert.{CertificateFactory, X509Certificate}
import java.security.spec.ECGenParameterSpec
import java.security.{KeyPairGenerator, SecureRandom}
import java.time.Instant
import java.time.temporal.ChronoUnit.DAYS
import java.util.Date
import org.bouncycastle.asn1.x500.X500Name
import org.bouncycastle.asn1.x509.{
  BasicConstraints,
  ExtendedKeyUsage,
  Extension,
  GeneralName,
  GeneralNames,
  KeyPurposeId
}
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder
import org.bouncycastle.openssl.jcajce.{JcaPEMWriter, JcaPKCS8Generator}
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder
import scala.jdk.CollectionConverters.*
import scala.util.{Try, Using}

/** `burst.http.tls.own`: a certificate that the platform makes and signs itself, for a machine that has no
  * other. Clients trust it by its file.
  */
object OwnCertificate:
  val Setting = "burst.http.tls.own"
  private val Section = "burst.http.tls"
  private val What = "the API's key"

  private val DaysGood = 3650L

  /** A certificate that expires sooner is replaced at a start. */
  private val DaysLeft = 30L

  /** The file in which clients find the certificate. */
  def file(data: DataDirectory): Path = data.path.resolve("api.pem").toAbsolutePath

  /** Returns the settings with certificate and key, if that is configured; creates both if they are missing
    * or no longer good.
    */
  def in(config: Config, data: DataDirectory): Config =
    if !config.getBoolean(Setting) then config
    else
      val names = namesOf(config.getString("burst.http.host"))
      val (certificate, key) = (file(data), data.path.resolve("api.key").toAbsolutePath)
      try if !isGood(certificate, key, names) then create(certificate, key, names)
      catch
        case problem: IOException =>
          throw SetupException(s"$Setting: $certificate cannot be made: ${problem.getMessage}.", problem)
      config
        .withValue(s"$Section.certificate", ConfigValueFactory.fromAnyRef(certificate.toString))
        .withValue(s"$Section.key", ConfigValueFactory.fromAnyRef(key.toString))

  /** Returns the names of this machine, for itself and for others. */
  private def namesOf(host: String): Seq[String] =
    val machine = Try(InetAddress.getLocalHost.getHostName).toOption
    (Seq("localhost", "127.0.0.1", "::1") ++ machine :+ host).filter(isName).distinct

  /** Whether it is a real name, not the wildcard for all addresses of a machine. */
  private def isName(name: String): Boolean =
    name.matches("[A-Za-z0-9.:_-]+") && !Set("0.0.0.0", "::").contains(name)

  private def isAddress(name: String): Boolean = name.contains(':') || name.matches("[0-9.]+")

  private def isGood(certificate: Path, key: Path, names: Seq[String]): Boolean =
    Files.exists(key) && Files.exists(certificate) && read(certificate).exists: found =>
      val known = Option(found.getSubjectAlternativeNames).toSeq
        .flatMap(_.asScala)
        .map(_.get(1).toString)
        .map(canonical)
        .toSet
      found.getNotAfter.toInstant.isAfter(Instant.now.plus(DaysLeft, DAYS)) &&
      names.forall(name => known(canonical(name)))

  private def canonical(name: String): String =
    if isAddress(name) then InetAddress.getByName(name).getHostAddress else name

  private def read(file: Path): Option[X509Certificate] =
    Try(
      Using.resource(Files.newInputStream(file))(CertificateFactory.getInstance("X.509").generateCertificate)
    )
      .collect { case certificate: X509Certificate => certificate }
      .toOption

  private def create(certificate: Path, key: Path, names: Seq[String]): Unit =
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(ECGenParameterSpec("secp256r1"))
    val pair = generator.generateKeyPair()
    val now = Instant.now
    // Clients whose clock is a little behind must accept it, too.
    val (begin, end) = (Date.from(now.minus(1, DAYS)), Date.from(now.plus(DaysGood, DAYS)))
    val subject = X500Name("CN=burst")
    val serial = BigInteger(127, SecureRandom())
    val general = names.map: name =>
      GeneralName(if isAddress(name) then GeneralName.iPAddress else GeneralName.dNSName, name)
    val builder = JcaX509v3CertificateBuilder(subject, serial, begin, end, subject, pair.getPublic)
      .addExtension(Extension.basicConstraints, true, BasicConstraints(false))
      .addExtension(Extension.extendedKeyUsage, false, ExtendedKeyUsage(KeyPurposeId.id_kp_serverAuth))
      .addExtension(Extension.subjectAlternativeName, false, GeneralNames(general.toArray))
    val signed = builder.build(JcaContentSignerBuilder("SHA256withECDSA").build(pair.getPrivate))
    // The certificate marks the pair as complete: it is deleted first and written last.
    Files.deleteIfExists(certificate)
    Files.deleteIfExists(key)
    PrivateFile.create(key, pem(JcaPKCS8Generator(pair.getPrivate, null)), What): Unit
    val fresh = certificate.resolveSibling(s"${certificate.getFileName}.new")
    Files.writeString(fresh, pem(signed))
    Files.move(fresh, certificate, StandardCopyOption.ATOMIC_MOVE): Unit

  private def pem(content: Any): String =
    val text = StringWriter()
    Using.resource(JcaPEMWriter(text))(_.writeObject(content))
    text.toString
