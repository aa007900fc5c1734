package burst.invoker.driver
package docker

import scala.concurrent.duration.DurationInt

/** How missing images and networks are explained. */
class ProblemsSuite extends munit.FunSuite:
  test("why an image is missing"):
    val sentences = Vector(
      ImageProblem.NotAllowed(Vector("a/", "b:")) -> "images here begin with 'a/', 'b:'",
      ImageProblem.TooLarge(12, 10) -> "it has 12 MiB, more than the 10 of this platform",
      ImageProblem.TooManyVolumes(16) -> "it has more than 16 volumes",
      ImageProblem.TooLargeToPull(10, 127) -> "it has more than 10 MiB, or more than 127 layers",
      ImageProblem.TooSlow(5.minutes) -> "it could not be pulled within 5 minutes",
      ImageProblem.Missing -> "it was pulled, and is not there"
    )
    for (problem, sentence) <- sentences do assertEquals(problem.sentence, sentence)

  test("a failed pull is explained in the daemon's words, truncated if too long"):
    val full = "write /a: no space left on device"
    assertEquals(ImageProblem.ofPull(full), ImageProblem.DiskFull(full))
    assertEquals(ImageProblem.ofPull("denied"), ImageProblem.Refused("denied"))
    for message <- Vector(full, "denied") do assertEquals(ImageProblem.ofPull(message).sentence, message)
    assertEquals(ImageProblem.ofPull("a" * 600 + full), ImageProblem.DiskFull("a" * 500))

  test("why a container gets no network access, or may still have it"):
    val sentences = Vector(
      FirewallProblem.ContainerEnded -> "the pack's container has ended",
      FirewallProblem.BackendNotFound("no such host") -> "its backend is not found: no such host",
      FirewallProblem.NotAdmitted("it is full") -> "the pack cannot be given its network: it is full",
      FirewallProblem.NotRenewed("no such image") -> "no such image",
      FirewallProblem.Silent(5.seconds) -> "the firewall has not answered within 5 seconds"
    )
    for (problem, sentence) <- sentences do assertEquals(problem.sentence, sentence)
