package burst.invoker.driver
package docker

import com.github.dockerjava.api.command.CreateContainerResponse
import com.github.dockerjava.api.exception.ConflictException
import com.github.dockerjava.api.model.AuthConfig
import com.github.dockerjava.core.command.CreateContainerCmdImpl
import java.nio.file.{Files, Path}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*

class ContainerSpecSuite extends munit.FunSuite:
  private val settings = DockerSettings(
    None,
    "i",
    None,
    Vector.empty,
    Vector.empty,
    Vector(Mount("/d", "/e", readOnly = true)),
    ImageSettings(Vector(""), size = 1, disk = 1, pullTimeout = 1.second),
    LimitSettings(cpusPerWorker = 0.5, memoryOverhead = 10, pids = 100, pidsPerWorker = 2),
    tmpSize = 8,
    descriptors = 50,
    users = UserRange(5, 9),
    group = 1,
    1.second,
    1.second,
    parallelism = 1
  )

  private def limits(workers: Int, memory: Int = 100, cpus: Int = 4) =
    settings.limits.of(machineCpus = cpus, workers, memoryMiB = memory)

  test("limits grow with the pack"):
    assertEquals(limits(2), ContainerLimits(nanoCpus = 1_000_000_000L, memory = 210L << 20, pids = 104))
    assertEquals(limits(4), ContainerLimits(nanoCpus = 2_000_000_000L, memory = 410L << 20, pids = 108))

  test("limits allow other limits that are nowhere larger"):
    assert(limits(2).allows(limits(2)) && limits(3).allows(limits(2)))
    assert(!limits(2).allows(limits(3)) && !limits(2).allows(limits(1, memory = 300)))

  test("a container gets no more CPUs than the machine has, and no less than Docker accepts"):
    assertEquals(limits(100).nanoCpus, 4_000_000_000L)
    assertEquals(settings.limits.copy(cpusPerWorker = 0.0001).nanoCpus(4, 1), 10_000_000L)

  test("large packs do not overflow"):
    assertEquals(limits(4096, memory = 8192).memory, (4096L * 8192 + 10) << 20)

  test("the package is mounted read-only, and operators' mounts as configured"):
    val binds = ContainerSpec.hostConfig(settings, "n", Path.of("/p"), limits(1)).getBinds
    assertEquals(binds.map(_.toString).toVector, Vector("/p:/package:ro", "/d:/e:ro"))

  test("an image name without a tag means its latest, not all of them"):
    for (name, full) <- List(
        "one" -> "one:latest",
        "127.0.0.1:5000/one" -> "127.0.0.1:5000/one:latest",
        "a/one:2" -> "a/one:2",
        "a/one@sha256:00" -> "a/one@sha256:00"
      )
    do assertEquals(UserImages.withTag(name), full)

  test("an image's loader variables do not reach the runtime, and its volumes are in memory"):
    val image = UserImage("id", Vector("/run"), "/", Map("LD_PRELOAD" -> "/x", "A" -> "b"), Vector("/data"))
    val command = CreateContainerCmdImpl(_ => CreateContainerResponse(), AuthConfig(), "id")
    val host = ContainerSpec.hostConfig(settings, "n", Path.of("/p"), limits(1))
    ImageSpec(image, Path.of("/f")).fill(command, host, Vector("T=1"))
    assertEquals(command.getEnv.take(2).toVector, Vector("T=1", "LD_PRELOAD="))
    assertEquals(command.getEnv.last.takeWhile(_ != '='), "BURST_IMAGE")
    assertEquals(command.getEntrypoint.head, "/.burst/loader")
    assertEquals(host.getTmpFs.keySet.asScala.toSet, Set("/tmp", "/data"))
    val binds = Vector("/p:/package:ro", "/d:/e:ro", "/f:/.burst:ro", "/dev/null:/etc/ld.so.preload:ro")
    assertEquals(host.getBinds.map(_.toString).toVector, binds)

  test("directories that only the pack writes to are emptied between flares, and operators' are not"):
    def scratch(targets: String*) =
      val mounts = targets.toVector.map(Mount("/d", _, readOnly = false))
      ContainerSpec.command(settings.copy(mounts = mounts)).drop(4).filterNot(_ == "--scratch")
    assertEquals(scratch("/e"), List("/tmp", "/dev/shm"))
    assertEquals(scratch("/tmp/data"), List("/dev/shm"))
    assertEquals(scratch("/tmp", "/dev/shm/x"), List.empty)

  test("a range of users is two numbers and does not include root"):
    assertEquals(UserRange.parse("1000-1999").map(_.size), Right(1000L))
    for wrong <- List("", "1000", "0-9", "9-8", "1-2-3", "1-9999999999", "a-b", "-5-7") do
      assertEquals(
        UserRange.parse(wrong).left.map(_.sentence),
        Left(
          s"'$wrong' is no range of users: write the first and the last one's number, such as 100000-165535"
        )
      )

  test("users are tried until one is free"):
    val users = ContainerUsers(UserRange(5, 9))
    var taken = Set.empty[Long]
    def create(user: Long): Long =
      if taken(user) then throw ConflictException("taken")
      taken += user
      user
    assertEquals(Vector.fill(5)(users.claim(create)).toSet, (5L to 9L).toSet)
    assert(intercept[IllegalStateException](users.claim(create)).getMessage.contains("5 to 9"))
    intercept[IllegalArgumentException](users.claim[Long](_ => throw IllegalArgumentException("else")))

  test("an invoker's identity is stable in its directory, and differs between directories"):
    val (one, two) = (Files.createTempDirectory("owner"), Files.createTempDirectory("owner"))
    assertEquals(DirectoryId.in(one), DirectoryId.in(one))
    assertNotEquals(DirectoryId.in(one), DirectoryId.in(two))
