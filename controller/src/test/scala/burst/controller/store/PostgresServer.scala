package burst.controller.store

import burst.controller.FreePort
import java.io.IOException
import java.net.URI
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.sql.DriverManager
import java.util.Comparator
import java.util.concurrent.TimeUnit
import scala.annotation.tailrec
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.jdk.StreamConverters.*
import scala.util.{Try, Using}

/** A PostgreSQL server of the test's own: a fresh cluster in a temporary directory, on a free port. */
final class PostgresServer private (directory: Path) extends AutoCloseable:
  import PostgresServer.*

  private val data = directory.resolve("data")
  private val log = directory.resolve("log")
  @volatile private var port = 0
  @volatile private var postmaster = Option.empty[Process]

  locally:
    val password = directory.resolve("password")
    Files.writeString(password, Password)
    own(password)
    val options = s"-U $User -A scram-sha-256 -E UTF8 --locale=C -N".split(" ").toSeq
    run("initdb" +: options ++: Seq("-D", s"$data", s"--pwfile=$password"))
    startSomewhere(attempts = 5)

  /** Another process may take a port before the server has it. */
  @tailrec private def startSomewhere(attempts: Int): Unit =
    port = FreePort.in(Ports)
    if !answers() then if attempts > 1 then startSomewhere(attempts - 1) else refuse()

  /** Starts the server on the data and the port it has, and waits until it answers. */
  def start(): Unit = if !answers() then refuse()

  private def refuse() = throw IllegalStateException(s"PostgreSQL did not start:\n${Files.readString(log)}")

  /** Whether it does not end at its start. */
  private def answers(): Boolean =
    val address = Seq("-h", "127.0.0.1", "-p", s"$port", "-k", s"$directory")
    val process = builder(("postgres" +: Seq("-D", s"$data") ++: Forgetful ++: address)*).start()
    postmaster = Some(process)
    val deadline = 60.seconds.fromNow
    while process.isAlive && Try(connect("postgres").close()).isFailure do
      if deadline.isOverdue() then refuse()
      process.waitFor(20, TimeUnit.MILLISECONDS)
    process.isAlive

  /** `kill -9` of the server's first process; its others follow as they notice. */
  def kill(): Unit =
    val children = postmaster.toVector.flatMap(_.descendants.toScala(Vector))
    postmaster.foreach(_.destroyForcibly().waitFor())
    // A new one refuses to start while old ones still hold the shared memory.
    children.foreach(_.onExit.get(30, TimeUnit.SECONDS))
    postmaster = None

  /** Ends all connections of others, in whatever they are. */
  def cutConnections(): Unit =
    Using.resource(connect("postgres")): connection =>
      val others =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
      Using.resource(connection.createStatement)(_.execute(others))
    ()

  /** An empty database; returns its name. */
  def createDatabase(): String = create("")

  /** One with this release's tables, as nobody has used them yet. */
  def migratedDatabase(): String = create(s" TEMPLATE $migrated")

  private lazy val migrated =
    val name = createDatabase()
    PostgresDatabase.open(settings(name)).close()
    name

  private def create(how: String): String =
    val name = s"t${java.util.UUID.randomUUID.toString.replace("-", "")}"
    Using.resource(connect("postgres")): connection =>
      Using.resource(connection.createStatement)(_.execute(s"CREATE DATABASE $name$how"))
    name

  def settings(database: String, connectTimeout: FiniteDuration = 10.seconds): PostgresSettings =
    PostgresSettings(
      URI(url(database)),
      User,
      Password,
      8,
      connectTimeout,
      20.seconds,
      // Tests stand still on a busy machine, too.
      idleTransaction = 60.seconds,
      memory = 5.millis
    )

  /** Stops it at once, so that it gives back the memory it shares, which outlives whom it is taken from. */
  override def close(): Unit =
    try if postmaster.exists(_.isAlive) then run(Seq("pg_ctl", "stop", "-m", "immediate", "-D", s"$data"))
    finally kill()
    if Files.exists(directory) then
      Files.walk(directory).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))

  private def url(database: String) = s"postgresql://127.0.0.1:$port/$database"

  private def connect(database: String) =
    DriverManager.getConnection(s"jdbc:${url(database)}", User, Password)

  private def run(command: Seq[String]): Unit =
    val process = builder(command*).start()
    if !process.waitFor(60, TimeUnit.SECONDS) || process.exitValue != 0 then
      process.destroyForcibly()
      throw IllegalStateException(s"${command.head} failed:\n${Files.readString(log)}")

  private def builder(command: String*): ProcessBuilder =
    val line = unprivileged ++ (programs.resolve(command.head).toString +: command.tail)
    ProcessBuilder(line*)
      .directory(directory.toFile)
      .redirectErrorStream(true)
      .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile))

object PostgresServer:
  /** Of those that the kernel gives to nobody, so that it is free again after a restart; the servers of the
    * tests in Rust have others.
    */
  private val Ports = 10000 until 18000

  /** Only a machine that goes down would lose what is not on the disk yet; that of a killed server is in the
    * kernel's memory.
    */
  private val Forgetful = Seq("-c", "fsync=off", "-c", "full_page_writes=off")

  val User = "burst"
  val Password = "postgres-test-password"

  private val isRoot = System.getProperty("user.name") == "root"

  // It refuses to run as root; the package brings a user for it.
  private val unprivileged =
    if isRoot then Seq("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups") else Seq.empty

  private def own(path: Path): Unit = if isRoot then
    val postgres = path.getFileSystem.getUserPrincipalLookupService.lookupPrincipalByName("postgres")
    val _ = Files.setOwner(path, postgres)

  private lazy val programs: Path =
    val installed = Path.of("/usr/lib/postgresql")
    val versions =
      try Using.resource(Files.list(installed))(_.toScala(Vector)).map(_.resolve("bin"))
      catch case _: IOException => Vector.empty
    versions
      .filter(bin => Files.isExecutable(bin.resolve("postgres")))
      .sortBy(_.getParent.getFileName.toString.toIntOption)
      .lastOption
      .getOrElse(munit.Assertions.fail(
        "PostgreSQL is not installed: on Debian, apt-get install postgresql; tests/prepare.sh does"
      ))

  /** A fresh server, gone when closed or at the latest with this JVM. */
  def fresh(): PostgresServer =
    // Its user must get there, and the name of its socket must be short.
    val directory = Files.createTempDirectory(Path.of("/tmp"), "burst-postgres")
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"))
    own(directory)
    val server = PostgresServer(directory)
    Runtime.getRuntime.addShutdownHook(Thread(() => server.close()))
    server

  /** Serves all tests that do not harm it. */
  lazy val shared: PostgresServer = fresh()
