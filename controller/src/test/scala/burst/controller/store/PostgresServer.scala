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

/** A PostgreSQL server for tests: a fresh cluster in a temporary directory, on a free port. */
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

  /** Tries several ports, as another process may take one before the server does. */
  @tailrec private def startSomewhere(attempts: Int): Unit =
    port = FreePort.in(Ports)
    if !answers() then if attempts > 1 then startSomewhere(attempts - 1) else refuse()

  /** Starts the server with its present data and port, and waits until it answers. */
  def start(): Unit = if !answers() then refuse()

  private def refuse() = throw IllegalStateException(s"PostgreSQL did not start:\n${Files.readString(log)}")

  /** Starts the server and waits until it answers; returns whether it still runs. */
  private def answers(): Boolean =
    val address = Seq("-h", "127.0.0.1", "-p", s"$port", "-k", s"$directory")
    val process = builder(("postgres" +: Seq("-D", s"$data") ++: Forgetful ++: address)*).start()
    postmaster = Some(process)
    val deadline = 60.seconds.fromNow
    while process.isAlive && Try(connect("postgres").close()).isFailure do
      if deadline.isOverdue() then refuse()
      process.waitFor(20, TimeUnit.MILLISECONDS)
    process.isAlive

  /** Kills the server's first process with `kill -9`; its other processes follow as they notice. */
  def kill(): Unit =
    val children = postmaster.toVector.flatMap(_.descendants.toScala(Vector))
    postmaster.foreach(_.destroyForcibly().waitFor())
    // A new server refuses to start while old processes still hold the shared memory.
    children.foreach(_.onExit.get(30, TimeUnit.SECONDS))
    postmaster = None

  /** Ends all other connections, whatever they are doing. */
  def cutConnections(): Unit =
    Using.resource(connect("postgres")): connection =>
      val others =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
      Using.resource(connection.createStatement)(_.execute(others))
    ()

  /** Creates an empty database; returns its name. */
  def createDatabase(): String = create("")

  /** Creates an unused database with this release's tables; returns its name. */
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
      // On a busy machine tests can pause in a transaction, too.
      idleTransaction = 60.seconds,
      memory = 5.millis
    )

  /** Stops the server immediately, so that it returns its shared memory, which would otherwise outlive it. */
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
  /** Ports that the kernel never assigns, so that they are free again after a restart; the servers of the
    * Rust tests use others.
    */
  private val Ports = 10000 until 18000

  /** Without flushing, only a machine that goes down loses writes; those of a killed server are in the
    * kernel's memory.
    */
  private val Forgetful = Seq("-c", "fsync=off", "-c", "full_page_writes=off")

  val User = "burst"
  val Password = "postgres-test-password"

  private val isRoot = System.getProperty("user.name") == "root"

  // PostgreSQL refuses to run as root; its package brings a user for it.
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

  /** Starts a fresh server, which is removed when closed or at the latest with this JVM. */
  def fresh(): PostgresServer =
    // The server's user must have access to it, and the name of its socket must be short.
    val directory = Files.createTempDirectory(Path.of("/tmp"), "burst-postgres")
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"))
    own(directory)
    val server = PostgresServer(directory)
    Runtime.getRuntime.addShutdownHook(Thread(() => server.close()))
    server

  /** A server for all tests that do not harm it. */
  lazy val shared: PostgresServer = fresh()
