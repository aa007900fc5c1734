package burst.invoker.driver
package docker

class NetworkSizesSuite extends munit.FunSuite:
  test("a network has room for twice the containers, within a minimum and a maximum"):
    for (containers, bits) <- Vector(1 -> 24, 120 -> 24, 126 -> 24, 127 -> 23, 1000 -> 21, 1000000 -> 16) do
      assertEquals(NetworkSizes(containers).narrow("172.21.0.0/16"), s"172.21.0.0/$bits", containers)

  test("a network given by Docker is never enlarged"):
    assertEquals(NetworkSizes(1000).narrow("10.1.2.0/24"), "10.1.2.0/24")

  test("each container may look up each address, up to a limit"):
    assertEquals(NetworkSizes(112).neighbours, 112L * 256)
    assertEquals(NetworkSizes(1000000).neighbours, 1L << 18)
